"""Factories for app purchases."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils import timezone

from apps.shops.domain import purchases
from apps.shops.models import AppPurchase, Installation


def make_purchase(installation: Installation, *, at: datetime | None = None, **values: Any) -> AppPurchase:
    """Create a pending app purchase."""
    attributes = {"name": "Setting up", "price": Decimal("49.00"), "actor": "system", **values}
    return purchases.create_purchase(installation, at=at or timezone.now(), **attributes)
