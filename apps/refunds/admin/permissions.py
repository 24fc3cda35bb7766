from apps.core.tenancy.permissions import allow, grants

VIEW, ADD = "refunds.view_refund", "refunds.add_refund"

grants.add(
    allow("orders", "v", "refunds.refund"),
    allow("edit_orders", "v", "refunds.refund"),
)
# Refunding moves money, so it requires a separate permission. The permission also allows viewing orders.
grants.add(
    allow("refund_orders", "v", "orders.order"),
    allow("refund_orders", "va", "refunds.refund"),
)
