"""Permissions to view and create refunds."""

from apps.staff.domain.permissions import grant_permissions

VIEW, ADD = "refunds.view_refund", "refunds.add_refund"

grant_permissions("orders", "v", "refunds.refund")
grant_permissions("edit_orders", "v", "refunds.refund")
# Refunding moves money, so it requires a separate permission. The permission also allows viewing orders.
grant_permissions("refund_orders", "v", "orders.order")
grant_permissions("refund_orders", "va", "refunds.refund")
