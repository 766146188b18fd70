# Roles with the least that hosts and logs need; rendered by clusterwright, do not edit.

resource "aws_iam_role" "host" {
  name               = "${var.name}-host"
  description        = "Hosts of ${var.name}"
  assume_role_policy = file("${path.module}/policies/assume-ec2.json")
}

resource "aws_iam_role_policy" "host" {
  name = "data"
  role = aws_iam_role.host.id
  policy = templatefile("${path.module}/policies/host.json.tftpl", {
    bucket = aws_s3_bucket.data.arn
    key    = aws_kms_key.this.arn
  })
}

# Sessions without an open port, for the day on which SSH does not answer.
resource "aws_iam_role_policy_attachment" "session" {
  role       = aws_iam_role.host.name
  policy_arn = "arn:${data.aws_partition.this.partition}:iam::aws:policy/AmazonSSMManagedInstanceCore"
}

resource "aws_iam_instance_profile" "host" {
  name = "${var.name}-host"
  role = aws_iam_role.host.name
}

resource "aws_iam_role" "flow" {
  name               = "${var.name}-flow-log"
  description        = "Flow log of ${var.name}"
  assume_role_policy = file("${path.module}/policies/assume-flow.json")
}

resource "aws_iam_role_policy" "flow" {
  name   = "write"
  role   = aws_iam_role.flow.id
  policy = templatefile("${path.module}/policies/flow.json.tftpl", { group = aws_cloudwatch_log_group.flow.arn })
}
