# What Ansible and people need; rendered by clusterwright, do not edit.

output "addresses" {
  description = "Host -> address; the same as ansible_host of the inventory."
  value       = { for name, host in local.hosts : name => cidrhost(var.networks.hosts, host.number) }
}

output "instance_ids" {
  description = "Host -> instance."
  value       = { for name, instance in aws_instance.host : name => instance.id }
}

output "ansible_environment" {
  description = "Environment of ansible-playbook: export each."
  value = {
    CLUSTER_FSX_MOUNT = var.lustre == null ? "" : aws_fsx_lustre_file_system.this[0].mount_name
  }
}

output "bucket" {
  description = "Bucket of datasets and checkpoints."
  value       = aws_s3_bucket.data.bucket
}

output "key" {
  description = "KMS key of everything that is stored."
  value       = aws_kms_key.this.arn
}
