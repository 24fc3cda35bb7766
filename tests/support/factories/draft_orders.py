"""Factories for draft orders in the current shop."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django.utils import timezone

from apps.core.types import Attrs
from apps.draft_orders.domain.completion import complete_draft_order
from apps.draft_orders.domain.draft_orders import create_draft_order
from apps.draft_orders.models import DraftOrder

CUSTOM_LINE = {"title": "Engraving", "price": Decimal("20.00"), "quantity": 2}


def make_draft_order(lines: Sequence[Attrs] = (CUSTOM_LINE,), **attrs: Any) -> DraftOrder:
    return create_draft_order(attrs, lines, actor="system", at=timezone.now())


def complete(draft: DraftOrder, **options: Any) -> DraftOrder:
    return complete_draft_order(draft, actor="system", at=timezone.now(), **options)
