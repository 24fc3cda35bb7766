"""Factories for price rules and discount codes in the current shop."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone

from apps.discounts.domain import codes, price_rules
from apps.discounts.models import DiscountCode, PriceRule


def make_rule(value: str = "-10", **attrs: Any) -> PriceRule:
    """Create a rule: by default, ten percent off the whole order."""
    attrs = {
        "title": "Summer",
        "value_type": "percentage",
        "value": Decimal(value),
        "customer_selection": "all",
        "target_type": "line_item",
        "target_selection": "all",
        "allocation_method": "across",
        "starts_at": timezone.now() - timedelta(days=1),
        **attrs,
    }
    return price_rules.create_price_rule(attrs, actor="system", at=timezone.now())


def make_code(code: str = "SUMMER", rule: PriceRule | None = None, **attrs: Any) -> DiscountCode:
    rule = rule or make_rule(**attrs)
    return codes.create_code(rule, code, actor="system", at=timezone.now())
