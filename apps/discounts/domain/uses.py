"""Record the uses of discount codes in orders.

The rule and the code are locked before their limits are checked, so two orders at the same time cannot both take the
last use.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from django.db import transaction

from apps.core.db.case_folding import build_email_key
from apps.core.db.statement_batches import StatementBatch
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import Message
from apps.discounts.domain import refusals
from apps.discounts.domain.terms import find_codes, normalize_code
from apps.discounts.models import DiscountCode, DiscountUse, PriceRule
from apps.orders.models import Order


class CodeNotUsable(DomainError):
    """Raised when a discount code cannot be used in an order."""

    field = "discount_codes"


@transaction.atomic
def record_uses(order: Order, codes: Sequence[str], *, enforce: bool, at: datetime) -> list[DiscountUse]:
    """Record that a saved order uses codes, and return the new uses. A code counts once per order.

    Codes that the shop does not have are ignored, because apps also name codes of other systems. With ``enforce``, they
    are refused.

    Raises:
        CodeNotUsable: With ``enforce``, a code does not exist, is used up, or the customer has already used it.
    """
    rows = _lock_codes(codes)
    if enforce and (unknown := [code for code in codes if normalize_code(code) not in rows]):
        raise _refuse(unknown[0], refusals.UNKNOWN)
    if not rows:
        return []
    amounts = get_amounts_of_codes(order)
    recorded = set(DiscountUse.objects.filter(order=order, code__in=rows.values()).values_list("code_id", flat=True))
    if enforce:
        for row in rows.values():
            if reason := _find_refusal(order, row, is_recorded=row.pk in recorded):
                raise _refuse(row.code, reason)
    new_codes = [row for row in rows.values() if row.pk not in recorded]
    uses = [
        DiscountUse(
            shop_id=order.shop_id,
            code=row,
            order=order,
            customer_id=order.customer_id,
            email_key=email,
            amount=amounts.get(row.code_key),
            created_at=at,
        )
        for email in [_get_email_key(order)]
        for row in new_codes
    ]
    DiscountUse.objects.bulk_create(uses)
    for row in new_codes:
        row.usage_count += 1
    DiscountCode.objects.bulk_update(new_codes, ["usage_count"])
    return uses


def record_uses_of_new_orders(orders: Sequence[Order], *, batch: StatementBatch, actor: str, at: datetime) -> None:
    """Record the uses of the codes that new orders name. These orders are never refused.

    Test orders use no codes. The statements run immediately, before the events of the orders, as the lock order
    requires.
    """
    for order in orders:
        if not order.test and (codes := get_codes_of_order(order)):
            record_uses(order, codes, enforce=False, at=at)


def get_codes_of_order(order: Order) -> list[str]:
    """Return the discount codes of an order."""
    entries: Iterable[Mapping[str, str]] = (
        *order.discount_codes,
        *(entry for entry in order.discount_applications if entry["type"] == "discount_code"),
    )
    return list(dict.fromkeys(code for entry in entries if (code := entry.get("code") or "")))


def get_amounts_of_codes(order: Order) -> dict[str, Decimal]:
    """Return the discounts of an order's codes by normalized code, in the order's currency."""
    amounts: dict[str, Decimal] = {}
    for entry in order.discount_codes:
        key = normalize_code(entry["code"])
        amounts[key] = amounts.get(key, Decimal(0)) + Decimal(entry["amount"])
    return amounts


def _lock_codes(codes: Sequence[str]) -> dict[str, DiscountCode]:
    """Lock the rules and codes, each in ascending order of ids. Return the codes by normalized code."""
    found = find_codes(codes)
    if not found:
        return {}
    rule_ids = {row.rule_id for row in found.values()}
    rules = PriceRule.objects.select_for_update(no_key=True).filter(pk__in=rule_ids).order_by("pk").in_bulk()
    ids = [row.pk for row in found.values()]
    rows = DiscountCode.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk")
    locked = {row.code_key: row for row in rows if row.rule_id in rules}
    for row in locked.values():
        row.rule = rules[row.rule_id]
    return locked


def _find_refusal(order: Order, row: DiscountCode, *, is_recorded: bool) -> Message | None:
    rule = row.rule
    if rule.usage_limit is not None and row.usage_count - is_recorded >= rule.usage_limit:
        return refusals.USED_UP
    if rule.once_per_customer:
        condition = refusals.build_use_condition(order.customer, order.email)
        if refusals.is_used_by_customer(rule, condition, other_than=order.pk):
            return refusals.ALREADY_USED
    return None


def _refuse(code: str, reason: Message) -> CodeNotUsable:
    return CodeNotUsable({"discount_codes": [refusals.CODE_REFUSED(code=code, reason=[reason])]})


def _get_email_key(order: Order) -> str:
    email = order.email or (order.customer.email if order.customer is not None else "")
    return build_email_key(email) if email else ""
