# Budget: the month's cost as the design says it; rendered by clusterwright, do not edit.

resource "aws_budgets_budget" "month" {
  name         = var.name
  budget_type  = "COST"
  time_unit    = "MONTHLY"
  limit_amount = tostring(var.budget.monthly_usd)
  limit_unit   = "USD"

  cost_filter {
    name   = "TagKeyValue"
    values = [format("user:Cluster$%s", var.tags.Cluster)]
  }

  dynamic "notification" {
    for_each = { spent = ["ACTUAL", 80], over = ["ACTUAL", 100], expected = ["FORECASTED", 100] }
    content {
      comparison_operator        = "GREATER_THAN"
      notification_type          = notification.value[0]
      threshold                  = notification.value[1]
      threshold_type             = "PERCENTAGE"
      subscriber_email_addresses = [var.budget.contact]
    }
  }
}
