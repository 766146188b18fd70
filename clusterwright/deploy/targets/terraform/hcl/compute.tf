# Instances: one placement group, EFA on every card, addresses as the inventory says; rendered by clusterwright, do not edit.

resource "aws_placement_group" "this" {
  name     = var.name
  strategy = "cluster"
}

resource "aws_launch_template" "host" {
  for_each      = local.hosts
  name          = "${var.name}-${each.key}"
  image_id      = var.ami_id
  instance_type = var.groups[each.value.group].instance_type
  ebs_optimized = true

  # An instance that stops gives its capacity back; nobody ends one by mistake.
  disable_api_termination = true

  iam_instance_profile {
    arn = aws_iam_instance_profile.host.arn
  }

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  monitoring {
    enabled = true
  }

  placement {
    availability_zone = var.availability_zone
    group_name        = var.groups[each.value.group].gpus > 0 ? aws_placement_group.this.name : null
  }

  block_device_mappings {
    device_name = "/dev/sda1"

    ebs {
      volume_type           = "gp3"
      volume_size           = var.groups[each.value.group].root_volume_gib
      iops                  = var.groups[each.value.group].root_volume_iops
      throughput            = var.groups[each.value.group].root_volume_mib_s
      encrypted             = true
      kms_key_id            = aws_kms_key.this.arn
      delete_on_termination = true
    }
  }

  network_interfaces {
    network_card_index    = 0
    device_index          = 0
    interface_type        = "interface"
    subnet_id             = aws_subnet.hosts.id
    private_ip_address    = cidrhost(var.networks.hosts, each.value.number)
    security_groups = concat(
      [aws_security_group.hosts.id],
      var.groups[each.value.group].role == "login" ? [aws_security_group.login.id] : [],
    )
    delete_on_termination = true
  }

  dynamic "network_interfaces" {
    for_each = local.interfaces[each.value.group]
    content {
      network_card_index    = network_interfaces.value.card
      device_index          = network_interfaces.value.device
      interface_type        = "efa-only"
      subnet_id             = aws_subnet.hosts.id
      security_groups       = [aws_security_group.hosts.id]
      delete_on_termination = true
    }
  }

  dynamic "capacity_reservation_specification" {
    for_each = var.groups[each.value.group].reserved && var.capacity_reservation_id != null ? [var.capacity_reservation_id] : []
    content {
      capacity_reservation_target {
        capacity_reservation_id = capacity_reservation_specification.value
      }
    }
  }

  dynamic "instance_market_options" {
    for_each = var.groups[each.value.group].reserved && var.capacity_block ? ["capacity-block"] : []
    content {
      market_type = instance_market_options.value
    }
  }

  user_data = base64encode(join("\n", [
    "#cloud-config",
    "fqdn: ${each.key}.${var.domain}",
    "manage_etc_hosts: false",
  ]))
}

resource "aws_instance" "host" {
  for_each = local.hosts

  launch_template {
    id      = aws_launch_template.host[each.key].id
    version = aws_launch_template.host[each.key].latest_version
  }

  tags = {
    Name  = each.key
    Role  = var.groups[each.value.group].role
    Group = each.value.group
  }

  lifecycle {
    # A newer image is taken in by replacing nodes rack by rack, never all at once.
    ignore_changes = [launch_template[0].version]
  }
}

resource "aws_route53_record" "host" {
  for_each = local.hosts
  zone_id  = aws_route53_zone.this.zone_id
  name     = "${each.key}.${var.domain}"
  type     = "A"
  ttl      = 300
  records  = [cidrhost(var.networks.hosts, each.value.number)]
}
