"""Who may see and make refunds."""

from apps.staff.domain.permissions import grant

VIEW, ADD = "refunds.view_refund", "refunds.add_refund"

grant("orders", "v", "refunds.refund")
grant("edit_orders", "v", "refunds.refund")
# Money moves, so it is a permission of its own; whoever has it sees what there is to refund.
grant("refund_orders", "v", "orders.order")
grant("refund_orders", "va", "refunds.refund")
