"""Fill in the taxes by rate that refunds and orders of an earlier release, or of a read-only shop, do not have.

Refunds keep their amounts: only the split of their taxes is added. No event is recorded, because nothing happened to
the order. Its new version ends the use of stored responses.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from django.db import transaction

from apps.core.money import ZERO, round_money
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.core.types import Attrs
from apps.orders.domain.pricing import totals
from apps.orders.domain.pricing.taxes import get_current_taxes, sum_taxes
from apps.orders.domain.selectors import get_line_items, get_shipping_lines, lock_order
from apps.orders.models import LineItem, Order
from apps.refunds.domain.checks.taxes import find_tax_differences
from apps.refunds.domain.tax_shares import TaxShares
from apps.refunds.models import Refund, RefundDuty, RefundLineItem, RefundShippingLine

RefundedPart = RefundLineItem | RefundShippingLine | RefundDuty


def repair_taxes() -> Iterator[str]:
    """Fill in the missing taxes of all writable shops, each order in a separate transaction."""
    with all_shops_scope():
        incomplete = {(row.shop_id, row.order_id) for row in find_tax_differences() if row.is_missing}
    shops = Shop.objects.in_bulk({shop_id for shop_id, _order_id in incomplete})
    for shop_id, order_id in sorted(incomplete):
        with shop_scope(shops[shop_id]):
            is_changed = _fill_order(order_id)
        if is_changed:
            yield f"shop {shop_id}, order {order_id}: filled in the taxes by rate"


def fill_taxes(shop: Shop) -> list[int]:
    """Fill in the missing taxes of a writable shop. Return the ids of the changed orders."""
    with shop_scope(shop):
        order_ids = {row.order_id for row in find_tax_differences(shop) if row.is_missing}
        return [order_id for order_id in sorted(order_ids) if _fill_order(order_id)]


@transaction.atomic
def _fill_order(order_id: int) -> bool:
    """Fill in the taxes of one order. Return False if the order was deleted or another process was faster."""
    order = Order.objects.filter(pk=order_id).first()
    if order is None:
        return False
    order = lock_order(order)
    lines, shipping = get_line_items(order), get_shipping_lines(order)
    rows = _load_rows(order, lines, {row.pk: TaxShares.of_row(order, row.tax_lines) for row in shipping})
    filled = [part for row in rows for part in row.fill()]
    for part in filled:
        part.save(update_fields=["tax_lines"])
    _add_up(order, rows, {part.refund_id for part in filled})
    changed_lines = _set_refunded_duty_taxes(order, lines, rows)
    current_taxes = get_current_taxes(order, lines, shipping, is_void=totals.is_void(order, lines))
    if not filled and not changed_lines and order.current_tax_lines == current_taxes:
        return False
    order.current_tax_lines = current_taxes
    order.save(update_fields=["current_tax_lines", "version"])
    return True


@dataclass(slots=True)
class _TaxedRow:
    """The taxes of a line item, shipping line or duty, with its refunded parts, oldest first.

    Refunds of items take the last part of the tax (``is_from_end``), refunds of shipping and duties the first part.
    """

    whole: TaxShares
    is_from_end: bool = False
    parts: list[RefundedPart] = field(default_factory=list)

    def fill(self) -> Iterator[RefundedPart]:
        """Split the taxes of parts without taxes by rate, as new refunds are split. Yield these parts."""
        remaining = self.whole.subtract_lines(part.tax_lines for part in self.parts)
        before = ZERO, ZERO
        for part in self.parts:
            amounts = self._get_taxes(part)
            after = before[0] + amounts[0], before[1] + amounts[1]
            if not part.tax_lines and self.whole.taxes:
                shares = self._split(remaining, part, before, after)
                remaining -= shares
                part.tax_lines = shares.build_tax_lines()
                yield part
            before = after

    def _split(
        self, remaining: TaxShares, part: RefundedPart, before: tuple[Decimal, Decimal], after: tuple[Decimal, Decimal]
    ) -> TaxShares:
        """Return the shares between two cumulative amounts, or shares of the rest if other refunds have taken them."""
        amounts = self._get_taxes(part)
        shares = self._get_first(after) - self._get_first(before)
        if self.is_from_end:
            shares = self._get_last(after) - self._get_last(before)
        rest = remaining.take(*amounts)
        if sum(shares.prices, ZERO) != amounts[0] or not _fits(shares.prices, remaining.prices):
            shares = replace(shares, prices=rest.prices)
        # The duties of a line are converted together, so their presentment taxes are not cumulative.
        is_wrong = sum(shares.converted, ZERO) != amounts[1] or not _fits(shares.converted, remaining.converted)
        if is_wrong or isinstance(part, RefundDuty):
            shares = replace(shares, converted=rest.converted)
        return shares

    def _get_first(self, amounts: tuple[Decimal, Decimal]) -> TaxShares:
        most = sum(self.whole.prices, ZERO), sum(self.whole.converted, ZERO)
        return self.whole.get_first(min(amounts[0], most[0]), min(amounts[1], most[1]))

    def _get_last(self, amounts: tuple[Decimal, Decimal]) -> TaxShares:
        rest = sum(self.whole.prices, ZERO) - amounts[0], sum(self.whole.converted, ZERO) - amounts[1]
        return self.whole - self.whole.get_first(max(rest[0], ZERO), max(rest[1], ZERO))

    def _get_taxes(self, part: RefundedPart) -> tuple[Decimal, Decimal]:
        """Return the tax of a part in both currencies. Earlier releases did not store the presentment amount."""
        tax = part.total_tax if isinstance(part, RefundLineItem) else part.tax
        return tax, self.whole.order.to_presentment(tax) if part.presentment_tax is None else part.presentment_tax


def _fits(shares: Iterable[Decimal], limits: Iterable[Decimal]) -> bool:
    return all(ZERO <= share <= limit for share, limit in zip(shares, limits, strict=True))


def _load_rows(order: Order, lines: Sequence[LineItem], shipping: dict[int, TaxShares]) -> list[_TaxedRow]:
    items = {line.pk: _TaxedRow(TaxShares.of_row(order, line.tax_lines), is_from_end=True) for line in lines}
    shipping_rows = {pk: _TaxedRow(shares) for pk, shares in shipping.items()}
    duties = {duty["id"]: _TaxedRow(TaxShares.of_duty(order, line, duty)) for line in lines for duty in line.duties}
    for item in RefundLineItem.objects.filter(refund__order=order).order_by("pk"):
        items[item.line_item_id].parts.append(item)
    for part in RefundShippingLine.objects.filter(refund__order=order).order_by("pk"):
        shipping_rows[part.shipping_line_id].parts.append(part)
    for duty_part in RefundDuty.objects.filter(refund__order=order).order_by("pk"):
        if duty_part.duty_id in duties:
            duties[duty_part.duty_id].parts.append(duty_part)
    return [*items.values(), *shipping_rows.values(), *duties.values()]


def _add_up(order: Order, rows: Iterable[_TaxedRow], refund_ids: set[int]) -> None:
    """Set the taxes of refunds to the sums of their parts."""
    taxes: dict[int, list[Attrs]] = defaultdict(list)
    kinds = (RefundLineItem, RefundShippingLine, RefundDuty)
    parts = (part for row in rows for part in row.parts)
    for part in sorted(parts, key=lambda part: (kinds.index(type(part)), part.pk)):
        taxes[part.refund_id] += part.tax_lines
    for refund in Refund.objects.filter(order=order, pk__in=refund_ids).order_by("pk"):
        refund.tax_lines = sum_taxes(taxes[refund.pk])
        refund.save(update_fields=["tax_lines"])


def _set_refunded_duty_taxes(order: Order, lines: Iterable[LineItem], rows: Iterable[_TaxedRow]) -> list[LineItem]:
    """Set the refunded tax of each duty to the sum of its refunds. Return the changed line items."""
    refunded: dict[int, Decimal] = defaultdict(Decimal)
    for part in (part for row in rows for part in row.parts):
        if isinstance(part, RefundDuty):
            refunded[part.duty_id] += part.tax
    changed = []
    for line in lines:
        duties = [
            {**duty, "refunded_tax": str(round_money(refunded[duty["id"]], order.currency))}
            if duty["id"] in refunded
            else duty
            for duty in line.duties
        ]
        taxes = [[Decimal(duty.get("refunded_tax", 0)) for duty in version] for version in (line.duties, duties)]
        if taxes[0] != taxes[1]:
            line.duties = duties
            line.save(update_fields=["duties"])
            changed.append(line)
    return changed
