"""Create a rule together with its first code, and many random codes."""

from datetime import datetime

from django.db import transaction

from apps.core.types import ReadOnlyAttrs
from apps.discounts.domain.batches import MAX_CODES, create_batch
from apps.discounts.domain.codes import create_code, generate_code
from apps.discounts.domain.price_rules import create_price_rule
from apps.discounts.models import CodeBatch, PriceRule


@transaction.atomic
def create_discount(attrs: ReadOnlyAttrs, code: str, *, actor: str, at: datetime) -> PriceRule:
    """Create a rule with a code. If the rule or the code is refused, nothing is created."""
    rule = create_price_rule(attrs, actor=actor, at=at)
    create_code(rule, code, actor=actor, at=at)
    return rule


@transaction.atomic
def create_random_codes(rule: PriceRule, number: int, prefix: str, *, actor: str, at: datetime) -> list[CodeBatch]:
    """Enqueue the creation of random codes, in batches of at most ``MAX_CODES`` codes."""
    texts = [generate_code(prefix) for _ in range(number)]
    return [
        create_batch(rule, texts[start : start + MAX_CODES], actor=actor, at=at)
        for start in range(0, number, MAX_CODES)
    ]
