"""Payment handlers for tests."""

import json
from typing import Any

from django.utils import timezone

from apps.payments.domain import handlers
from apps.payments.models import PaymentHandlerConfig

VERSION = "2026-04-08"
CONFIG: dict[str, Any] = {"shop_id": "942252"}
# Bodies that are made and broken again.
BODY: dict[str, Any] = {"handler_id": "wallet_pay", "version": VERSION, "config": CONFIG, "enabled": True}


def make_handler(**attrs: Any) -> PaymentHandlerConfig:
    """A handler of the current shop, on unless told otherwise."""
    given = {"handler_id": "wallet_pay", "handler_version": VERSION, "config": CONFIG, "enabled": True, **attrs}
    return handlers.create_handler(given, actor="system", at=timezone.now())


def copy(value: Any) -> Any:
    """A value of its own."""
    return json.loads(json.dumps(value))
