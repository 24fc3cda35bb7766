import json

from django.utils import timezone

from apps.core.types import Attrs
from apps.payments.domain import handlers
from apps.payments.models import PaymentHandlerConfig
from tests.support.types import Json, JsonObject

VERSION = "2026-04-08"
CONFIG: Attrs = {"shop_id": "942252"}
# A valid request body, which tests copy and modify.
BODY: JsonObject = {"handler_id": "wallet_pay", "version": VERSION, "config": CONFIG, "enabled": True}


def make_handler(**attrs: object) -> PaymentHandlerConfig:
    fields = {"handler_id": "wallet_pay", "handler_version": VERSION, "config": CONFIG, "enabled": True, **attrs}
    return handlers.create_handler(fields, actor="system", at=timezone.now())


def deep_copy(value: object) -> Json:
    return json.loads(json.dumps(value))
