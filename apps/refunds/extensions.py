from apps.core.rest.resources.nested_rows import NestedRows
from apps.orders.api.orders import order_members
from apps.orders.domain import hooks
from apps.refunds.api.parsing import parse_and_refund_order
from apps.refunds.api.refunds import RefundSerializer
from apps.refunds.domain import privacy, restore

hooks.creation_hooks.add(restore.restore_refunds)
hooks.erasure_hooks.add(privacy.erase_refund_notes)
hooks.refund_hooks.add(parse_and_refund_order)
order_members.register("refunds", NestedRows(RefundSerializer, "refunds"))
