# What is decided by the design (terraform.tfvars.json) and by the account (environment: TF_VAR_...); rendered by clusterwright, do not edit.

variable "name" {
  description = "Name of the cluster and the site."
  type        = string
}

variable "account_id" {
  description = "Account that is rented in; nothing is made in another one."
  type        = string
  validation {
    condition     = can(regex("^[0-9]{12}$", var.account_id))
    error_message = "An account is twelve digits."
  }
}

variable "region" {
  description = "Region of AWS that stands for the design's region."
  type        = string
}

variable "availability_zone" {
  description = "The zone of the capacity; a cluster placement group has one."
  type        = string
}

variable "ami_id" {
  description = "Image of the hosts: the design's operating system, with the EFA driver."
  type        = string
}

variable "capacity_reservation_id" {
  description = "Reservation or capacity block that the nodes run in; null for on-demand capacity."
  type        = string
  default     = null
}

variable "capacity_block" {
  description = "Whether the reservation is a capacity block for ML, which ends at its date."
  type        = bool
  default     = false
}

variable "admin_blocks" {
  description = "Networks from which administrators come to the login hosts."
  type        = list(string)
}

variable "groups" {
  description = "Server groups of the site; first is the number of the first host in the networks."
  type = map(object({
    role                 = string
    count                = number
    first                = number
    gpus                 = number
    instance_type        = string
    efa_interfaces       = number
    first_efa_card       = number
    reserved             = bool
    root_volume_gib      = number
    root_volume_iops     = number
    root_volume_mib_s    = number
  }))
}

variable "networks" {
  description = "Blocks: hosts, storage, and public for the NAT gateway."
  type = object({
    vpc       = string
    secondary = list(string)
    hosts     = string
    storage   = string
    public    = string
  })
}

variable "domain" {
  description = "Private DNS zone of the site."
  type        = string
}

variable "lustre" {
  description = "FSx for Lustre as the design's parallel tier; null without one."
  type = object({
    capacity_gib            = number
    throughput_mb_s_per_tib = number
  })
}

variable "lifecycle_rules" {
  description = "Life of objects by prefix; days of 0 mean never."
  type = list(object({
    id                  = string
    prefix              = string
    transitions         = list(object({ days = number, storage_class = string }))
    expire_days         = number
    noncurrent_days     = number
    abort_upload_days   = number
  }))
}

variable "budget" {
  description = "Limit of a month in US dollars, by the design, and who is told."
  type = object({
    monthly_usd = number
    contact     = string
  })
}

variable "tags" {
  description = "Tags of everything: tenants and cost centre for the bill."
  type        = map(string)
}
