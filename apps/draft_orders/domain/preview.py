"""Calculate draft orders that are not saved, for the totals of a form."""

from collections.abc import Sequence
from copy import copy
from datetime import datetime

from apps.core.tenancy.scope import get_current_shop
from apps.core.types import ReadOnlyAttrs
from apps.customers.models import Customer
from apps.draft_orders.domain.calculation import calculate_draft
from apps.draft_orders.domain.draft_orders import get_lines
from apps.draft_orders.domain.inputs import build_draft_lines, get_columns
from apps.draft_orders.models import DraftOrder, DraftOrderLine


def preview_draft_order(
    draft: DraftOrder | None, attrs: ReadOnlyAttrs, lines: Sequence[ReadOnlyAttrs], *, at: datetime
) -> tuple[DraftOrder, list[DraftOrderLine]]:
    """Return the draft order and the lines that would be saved, without locks or writes.

    ``attrs`` and ``lines`` are as in ``create_draft_order``, or with a ``draft`` as in ``update_draft_order``.

    Raises:
        DraftOrderRefused: Values are invalid.
    """
    shop = get_current_shop()
    new = DraftOrder(
        shop=shop, currency=shop.currency, presentment_currency=shop.currency, taxes_included=shop.taxes_included
    )
    preview = copy(draft) if draft else new
    values = {name: value for name, value in attrs.items() if name != "customer_id"}
    for name, value in get_columns(preview, values).items():
        setattr(preview, name, value)
    if "customer_id" in attrs:
        preview.customer = Customer.objects.filter(pk=attrs["customer_id"]).first()
    rows = build_draft_lines(preview, lines, get_lines(draft) if draft else ())
    calculate_draft(preview, rows, at=at)
    return preview, rows
