# Parallel file system and objects; rendered by clusterwright, do not edit.

resource "aws_fsx_lustre_file_system" "this" {
  count                       = var.lustre == null ? 0 : 1
  deployment_type             = "PERSISTENT_2"
  storage_type                = "SSD"
  storage_capacity            = var.lustre.capacity_gib
  per_unit_storage_throughput = var.lustre.throughput_mb_s_per_tib
  subnet_ids                  = [aws_subnet.storage.id]
  security_group_ids          = [aws_security_group.lustre.id]
  kms_key_id                  = aws_kms_key.this.arn
  # Tokens and checkpoints of 16-bit floats compress little, and LZ4 costs nothing when they do not.
  data_compression_type           = "LZ4"
  automatic_backup_retention_days = 0
  weekly_maintenance_start_time   = "7:03:00"

  metadata_configuration {
    mode = "AUTOMATIC"
  }

  root_squash_configuration {
    root_squash = "65534:65534"
  }

  tags = { Name = "${var.name}-lustre" }

  lifecycle {
    prevent_destroy = true
  }
}

# Datasets are read from the bucket as they are asked for; checkpoints go back there by themselves.
resource "aws_fsx_data_repository_association" "datasets" {
  count                            = var.lustre == null ? 0 : 1
  file_system_id                   = aws_fsx_lustre_file_system.this[0].id
  data_repository_path             = "s3://${aws_s3_bucket.data.bucket}/datasets"
  file_system_path                 = "/datasets"
  batch_import_meta_data_on_create = true

  s3 {
    auto_import_policy {
      events = ["NEW", "CHANGED", "DELETED"]
    }
  }
}

resource "aws_fsx_data_repository_association" "checkpoints" {
  count                = var.lustre == null ? 0 : 1
  file_system_id       = aws_fsx_lustre_file_system.this[0].id
  data_repository_path = "s3://${aws_s3_bucket.data.bucket}/checkpoints"
  file_system_path     = "/checkpoints"

  s3 {
    auto_export_policy {
      events = ["NEW", "CHANGED"]
    }
  }
}

resource "aws_route53_record" "parallel" {
  count   = var.lustre == null ? 0 : 1
  zone_id = aws_route53_zone.this.zone_id
  name    = "parallel.${var.domain}"
  type    = "CNAME"
  ttl     = 300
  records = [aws_fsx_lustre_file_system.this[0].dns_name]
}

resource "aws_s3_bucket" "data" {
  bucket        = "${var.name}-${var.account_id}-data"
  force_destroy = false

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_s3_bucket_ownership_controls" "data" {
  bucket = aws_s3_bucket.data.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_public_access_block" "data" {
  bucket                  = aws_s3_bucket.data.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_versioning" "data" {
  bucket = aws_s3_bucket.data.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "data" {
  bucket = aws_s3_bucket.data.id

  rule {
    bucket_key_enabled = true

    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = aws_kms_key.this.arn
    }
  }
}

resource "aws_s3_bucket_policy" "data" {
  bucket = aws_s3_bucket.data.id
  policy = templatefile("${path.module}/policies/bucket.json.tftpl", { bucket = aws_s3_bucket.data.arn })
}

resource "aws_s3_bucket_lifecycle_configuration" "data" {
  bucket = aws_s3_bucket.data.id

  dynamic "rule" {
    for_each = var.lifecycle_rules
    content {
      id     = rule.value.id
      status = "Enabled"

      filter {
        prefix = rule.value.prefix
      }

      dynamic "transition" {
        for_each = rule.value.transitions
        content {
          days          = transition.value.days
          storage_class = transition.value.storage_class
        }
      }

      dynamic "expiration" {
        for_each = rule.value.expire_days > 0 ? [rule.value.expire_days] : []
        content {
          days = expiration.value
        }
      }

      noncurrent_version_expiration {
        noncurrent_days = rule.value.noncurrent_days
      }

      abort_incomplete_multipart_upload {
        days_after_initiation = rule.value.abort_upload_days
      }
    }
  }

  depends_on = [aws_s3_bucket_versioning.data]
}
