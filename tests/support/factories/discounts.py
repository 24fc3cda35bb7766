"""Factories for price rules and discount codes in the current shop."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone

from apps.discounts.domain import batches, codes, price_rules
from apps.discounts.models import CodeBatch, DiscountCode, PriceRule


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


def make_code(code: str = "", rule: PriceRule | None = None) -> DiscountCode:
    """Create a code of a rule: by default, a code that the shop does not have yet."""
    rule = rule or make_rule()
    code = code or f"SUMMER{DiscountCode.objects.count() + 1}"
    return codes.create_code(rule, code, actor="system", at=timezone.now())


def make_batch(*texts: str) -> CodeBatch:
    """Create a batch that waits for its job."""
    return batches.create_batch(make_rule(), texts or ("A1", "A2"), actor="system", at=timezone.now())
