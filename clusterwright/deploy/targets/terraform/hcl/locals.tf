# Hosts from groups; rendered by clusterwright, do not edit.

locals {
  tags = merge(var.tags, { ManagedBy = "terraform" })

  # s1-compute-0001 and so on, with the number that gives its address in every network.
  hosts = merge([
    for group, held in var.groups : {
      for k in range(held.count) : format("%s-%04d", group, k + 1) => {
        group  = group
        number = held.first + k
      }
    }
  ]...)

  # One ENA interface for IP, one EFA-only interface on every network card that has an EFA.
  interfaces = {
    for group, held in var.groups : group => [
      for card in range(held.first_efa_card, held.first_efa_card + held.efa_interfaces) : {
        card   = card
        device = card == 0 ? 1 : 0
      }
    ]
  }
}
