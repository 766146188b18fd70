# Network: one private subnet for hosts, one for storage, one public for the NAT gateway; rendered by clusterwright, do not edit.

resource "aws_vpc" "this" {
  cidr_block           = var.networks.vpc
  enable_dns_support   = true
  enable_dns_hostnames = true
  tags                 = { Name = var.name }
}

resource "aws_vpc_ipv4_cidr_block_association" "more" {
  for_each   = toset(var.networks.secondary)
  vpc_id     = aws_vpc.this.id
  cidr_block = each.value
}

resource "aws_subnet" "hosts" {
  vpc_id            = aws_vpc.this.id
  cidr_block        = var.networks.hosts
  availability_zone = var.availability_zone
  tags              = { Name = "${var.name}-hosts" }
  depends_on        = [aws_vpc_ipv4_cidr_block_association.more]
}

# File servers take addresses as they come, so they have a subnet where no host has a fixed one.
resource "aws_subnet" "storage" {
  vpc_id            = aws_vpc.this.id
  cidr_block        = var.networks.storage
  availability_zone = var.availability_zone
  tags              = { Name = "${var.name}-storage" }
  depends_on        = [aws_vpc_ipv4_cidr_block_association.more]
}

resource "aws_subnet" "public" {
  vpc_id                  = aws_vpc.this.id
  cidr_block              = var.networks.public
  availability_zone       = var.availability_zone
  map_public_ip_on_launch = false
  tags                    = { Name = "${var.name}-public" }
  depends_on              = [aws_vpc_ipv4_cidr_block_association.more]
}

resource "aws_internet_gateway" "this" {
  vpc_id = aws_vpc.this.id
  tags   = { Name = var.name }
}

resource "aws_eip" "nat" {
  domain = "vpc"
  tags   = { Name = "${var.name}-nat" }
}

resource "aws_nat_gateway" "this" {
  allocation_id = aws_eip.nat.allocation_id
  subnet_id     = aws_subnet.public.id
  tags          = { Name = var.name }
  depends_on    = [aws_internet_gateway.this]
}

resource "aws_route_table" "public" {
  vpc_id = aws_vpc.this.id
  tags   = { Name = "${var.name}-public" }
}

resource "aws_route" "public" {
  route_table_id         = aws_route_table.public.id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.this.id
}

resource "aws_route_table_association" "public" {
  route_table_id = aws_route_table.public.id
  subnet_id      = aws_subnet.public.id
}

resource "aws_route_table" "private" {
  vpc_id = aws_vpc.this.id
  tags   = { Name = "${var.name}-private" }
}

resource "aws_route" "private" {
  route_table_id         = aws_route_table.private.id
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = aws_nat_gateway.this.id
}

resource "aws_route_table_association" "hosts" {
  route_table_id = aws_route_table.private.id
  subnet_id      = aws_subnet.hosts.id
}

resource "aws_route_table_association" "storage" {
  route_table_id = aws_route_table.private.id
  subnet_id      = aws_subnet.storage.id
}

# Data of training does not pass the NAT gateway, which is billed by the gigabyte.
resource "aws_vpc_endpoint" "s3" {
  vpc_id            = aws_vpc.this.id
  service_name      = "com.amazonaws.${var.region}.s3"
  vpc_endpoint_type = "Gateway"
  route_table_ids   = [aws_route_table.private.id]
  tags              = { Name = "${var.name}-s3" }
}

resource "aws_route53_zone" "this" {
  name    = var.domain
  comment = "Hosts and file systems of ${var.name}"

  vpc {
    vpc_id = aws_vpc.this.id
  }
}

resource "aws_cloudwatch_log_group" "flow" {
  name              = "/vpc/${var.name}"
  retention_in_days = 90
  kms_key_id        = aws_kms_key.this.arn
}

resource "aws_flow_log" "this" {
  vpc_id                   = aws_vpc.this.id
  traffic_type             = "REJECT"
  log_destination_type     = "cloud-watch-logs"
  log_destination          = aws_cloudwatch_log_group.flow.arn
  iam_role_arn             = aws_iam_role.flow.arn
  max_aggregation_interval = 600
}
