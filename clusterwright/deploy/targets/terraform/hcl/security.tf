# Security groups: EFA needs every port between its members, in and out; nothing else is open; rendered by clusterwright, do not edit.

# The group that AWS makes lets its members talk; without rules nobody uses it by mistake.
resource "aws_default_security_group" "this" {
  vpc_id = aws_vpc.this.id
}

resource "aws_security_group" "hosts" {
  name        = "${var.name}-hosts"
  description = "Hosts of ${var.name}"
  vpc_id      = aws_vpc.this.id
  tags        = { Name = "${var.name}-hosts" }
}

resource "aws_vpc_security_group_ingress_rule" "self" {
  security_group_id            = aws_security_group.hosts.id
  referenced_security_group_id = aws_security_group.hosts.id
  ip_protocol                  = "-1"
  description                  = "EFA and the scheduler, among members"
}

resource "aws_vpc_security_group_egress_rule" "self" {
  security_group_id            = aws_security_group.hosts.id
  referenced_security_group_id = aws_security_group.hosts.id
  ip_protocol                  = "-1"
  description                  = "EFA and the scheduler, among members"
}

resource "aws_vpc_security_group_egress_rule" "https" {
  security_group_id = aws_security_group.hosts.id
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
  description       = "Packages, images, APIs of AWS"
}

resource "aws_security_group" "login" {
  name        = "${var.name}-login"
  description = "Login hosts of ${var.name}"
  vpc_id      = aws_vpc.this.id
  tags        = { Name = "${var.name}-login" }
}

resource "aws_vpc_security_group_ingress_rule" "ssh" {
  for_each          = toset(var.admin_blocks)
  security_group_id = aws_security_group.login.id
  cidr_ipv4         = each.value
  ip_protocol       = "tcp"
  from_port         = 22
  to_port           = 22
  description       = "SSH from the networks of the house"
}

resource "aws_security_group" "lustre" {
  name        = "${var.name}-lustre"
  description = "File system of ${var.name}"
  vpc_id      = aws_vpc.this.id
  tags        = { Name = "${var.name}-lustre" }
}

# LNet: 988 and 1018 to 1023, between clients and servers and among servers, both ways.
resource "aws_vpc_security_group_ingress_rule" "lnet" {
  for_each = {
    hosts_988   = { group = aws_security_group.hosts.id, from = 988, to = 988 }
    hosts_1018  = { group = aws_security_group.hosts.id, from = 1018, to = 1023 }
    lustre_988  = { group = aws_security_group.lustre.id, from = 988, to = 988 }
    lustre_1018 = { group = aws_security_group.lustre.id, from = 1018, to = 1023 }
  }
  security_group_id            = aws_security_group.lustre.id
  referenced_security_group_id = each.value.group
  ip_protocol                  = "tcp"
  from_port                    = each.value.from
  to_port                      = each.value.to
  description                  = "LNet"
}

resource "aws_vpc_security_group_egress_rule" "lnet" {
  for_each = {
    hosts  = aws_security_group.hosts.id
    lustre = aws_security_group.lustre.id
  }
  security_group_id            = aws_security_group.lustre.id
  referenced_security_group_id = each.value
  ip_protocol                  = "tcp"
  from_port                    = 988
  to_port                      = 1023
  description                  = "LNet"
}

resource "aws_vpc_security_group_egress_rule" "hosts_lnet" {
  security_group_id            = aws_security_group.hosts.id
  referenced_security_group_id = aws_security_group.lustre.id
  ip_protocol                  = "tcp"
  from_port                    = 988
  to_port                      = 1023
  description                  = "LNet"
}

resource "aws_vpc_security_group_ingress_rule" "hosts_lnet" {
  security_group_id            = aws_security_group.hosts.id
  referenced_security_group_id = aws_security_group.lustre.id
  ip_protocol                  = "tcp"
  from_port                    = 988
  to_port                      = 1023
  description                  = "LNet"
}

resource "aws_kms_key" "this" {
  description             = "Volumes, file system, objects and logs of ${var.name}"
  enable_key_rotation     = true
  deletion_window_in_days = 30
  policy = templatefile("${path.module}/policies/key.json.tftpl", {
    account   = var.account_id
    partition = data.aws_partition.this.partition
    region    = var.region
  })
}

resource "aws_kms_alias" "this" {
  name          = "alias/${var.name}"
  target_key_id = aws_kms_key.this.key_id
}

data "aws_partition" "this" {}
