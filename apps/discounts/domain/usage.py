"""Numbers about the codes of rules and their uses."""

from typing import TypeAlias, TypedDict

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


RuleWithUsage: TypeAlias = "WithAnnotations[PriceRule, _Usage]"


def annotate_usage(rules: QuerySet[PriceRule]) -> QuerySet[PriceRule]:
    """Add the first code, the numbers of codes and uses, the amount given, and whether all codes are used up.

    The amount is in the shop currency. It excludes orders in other currencies, and canceled and deleted orders.
    """
    codes = DiscountCode.objects.filter(rule=OuterRef("pk"))
    per_rule = codes.order_by().values("rule")
    counted = DiscountUse.objects.filter(
        code__rule=OuterRef("pk"),
        order__isnull=False,
        order__cancelled_at=None,
        order__currency=get_current_shop().currency,
    )
    return rules.annotate(
        first_code=Subquery(codes.order_by("pk").values("code")[:1]),
        codes_count=Subquery(per_rule.annotate(result=Count("pk")).values("result")),
        uses_count=Subquery(per_rule.annotate(result=Sum("usage_count")).values("result")),
        amount_given=Subquery(counted.order_by().values("code__rule").annotate(result=Sum("amount")).values("result")),
        is_used_up=ExpressionWrapper(build_used_up_condition(), output_field=BooleanField()),
    )
