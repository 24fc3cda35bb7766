"""Numbers about the codes of rules and their uses."""

from collections.abc import Sequence
from typing import Any, TypeAlias, TypedDict

from django.db.models import BooleanField, Count, ExpressionWrapper, OuterRef, QuerySet, Subquery, Sum
from django_stubs_ext import WithAnnotations

from apps.core.tenancy.scope import get_current_shop
from apps.discounts.domain.states import build_used_up_condition
from apps.discounts.models import DiscountCode, DiscountUse, PriceRule


class _Usage(TypedDict):
    first_code: str | None
    codes_count: int | None
    uses_count: int | None
    amount_given: object
    is_used_up: bool


_NO_USAGE = _Usage(first_code=None, codes_count=0, uses_count=0, amount_given=None, is_used_up=False)
RuleWithUsage: TypeAlias = "WithAnnotations[PriceRule, _Usage]"


def load_usage(rules: Sequence[PriceRule]) -> None:
    """Set the first code, the numbers of codes and uses, the amount given, and whether all codes are used up.

    The amount is in the shop currency. It excludes orders in other currencies, and test, canceled and deleted
    orders.
    """
    usage = {row.pop("pk"): row for row in _annotate_usage([rule.pk for rule in rules])}
    for rule in rules:
        for name, value in usage.get(rule.pk, _NO_USAGE).items():
            setattr(rule, name, value)


def count_earlier_uses(rule: PriceRule) -> int:
    """Return the number of uses of the rule's codes before they were imported."""
    return rule.codes.aggregate(total=Sum("earlier_uses"))["total"] or 0


def _annotate_usage(ids: Sequence[int]) -> QuerySet[PriceRule, dict[str, Any]]:
    codes = DiscountCode.objects.filter(rule=OuterRef("pk"))
    per_rule = codes.order_by().values("rule")
    counted = DiscountUse.objects.filter(
        code__rule=OuterRef("pk"),
        order__isnull=False,
        order__cancelled_at=None,
        order__test=False,
        order__currency=get_current_shop().currency,
    )
    rules = PriceRule.objects.filter(pk__in=ids).annotate(
        first_code=Subquery(codes.order_by("pk").values("code")[:1]),
        codes_count=Subquery(per_rule.annotate(result=Count("pk")).values("result")),
        uses_count=Subquery(per_rule.annotate(result=Sum("usage_count")).values("result")),
        amount_given=Subquery(counted.order_by().values("code__rule").annotate(result=Sum("amount")).values("result")),
        is_used_up=ExpressionWrapper(build_used_up_condition(), output_field=BooleanField()),
    )
    return rules.values("pk", *_Usage.__annotations__)
