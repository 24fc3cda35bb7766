"""Export and erase the personal data of customers in uses of discount codes, and move the rows in merges.

Uses remain after an erasure, because they count for the limits of the codes. Only the email address is erased.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.db.models import Q, QuerySet

from apps.core.db.case_folding import build_email_key
from apps.core.privacy import get_blank_values
from apps.customers.models import Customer
from apps.discounts.models import DiscountUse, PriceRuleItem


def _get_uses(customer: Customer) -> QuerySet[DiscountUse]:
    condition = Q(customer=customer)
    if customer.email:
        condition |= Q(customer=None, email_key=build_email_key(customer.email))
    return DiscountUse.objects.filter(condition)


def export_discount_uses(customer: Customer, after: int) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield a customer's uses of codes with ids above ``after``, oldest first, as ``(id, JSON values)``."""
    rows = _get_uses(customer).filter(pk__gt=after).select_related("code").order_by("pk")
    for use in rows.iterator(chunk_size=500):
        yield (
            use.pk,
            {
                "code": use.code.code,
                "order_id": use.order_id,
                "email": use.email_key,
                "created_at": use.created_at.isoformat(),
            },
        )


def redact_discount_uses(customer: Customer, actor: str, at: datetime) -> None:
    """Erase the email address from a customer's uses of codes."""
    _get_uses(customer).update(**get_blank_values(DiscountUse))


def get_customer_items(customer_id: int) -> QuerySet[PriceRuleItem]:
    return PriceRuleItem.objects.filter(customer_id=customer_id)


def move_discounts(items: Sequence[PriceRuleItem], keep_id: int, other_id: int, actor: str, at: datetime) -> None:
    """Move the uses of codes to another locked customer, and the locked items of rules for selected customers.

    The uses are not locked before the customers: only merges and deletions change a use, and the locks on the customers
    keep new uses out.
    """
    DiscountUse.objects.filter(customer_id=other_id).update(customer_id=keep_id, updated_at=at)
    if not items:
        return
    rule_ids = [item.rule_id for item in items]
    known = set(get_customer_items(keep_id).filter(rule__in=rule_ids).values_list("rule_id", flat=True))
    rows = PriceRuleItem.objects.filter(pk__in=[item.pk for item in items])
    rows.filter(rule__in=known).delete()
    rows.exclude(rule__in=known).update(customer_id=keep_id, updated_at=at)
