from apps.core.rest.resources.nested_rows import NestedRows
from apps.core.tenancy.read_only import writable_listeners
from apps.orders.api.orders import order_members
from apps.orders.domain import hooks
from apps.refunds.api.parsing import parse_and_refund_order
from apps.refunds.api.refunds import RefundSerializer
from apps.refunds.domain import privacy
from apps.refunds.domain.checks import tax_repair
from apps.refunds.domain.exported_refunds import restore
from apps.refunds.domain.exported_refunds.amounts import check_restored_refunds

hooks.draft_hooks.add(check_restored_refunds)
hooks.creation_hooks.add(restore.restore_refunds)
hooks.erasure_hooks.add(privacy.erase_refund_notes)
hooks.refund_hooks.add(parse_and_refund_order)
writable_listeners.add(tax_repair.fill_taxes)
order_members.register("refunds", NestedRows(RefundSerializer, "refunds"))
