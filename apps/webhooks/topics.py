"""What the audit trail notes of subscriptions, and the request to erase that an app gets once it has left."""

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.api.shapes import Schema
from apps.events.domain import topics
from apps.ground.attrs import Attrs
from apps.ground.tenancy import current_shop
from apps.webhooks.domain.topics import SHOP_REDACT


def _nothing(instance: Model, version: str) -> Attrs:
    return {"id": instance.pk}


def _left_shop(instance: Model, version: str) -> Attrs:
    shop = current_shop()
    return {"shop_id": shop.pk, "shop_domain": shop.domain}


def _left_shop_shape(version: str) -> Schema:
    return {"type": "object", "properties": {"shop_id": {"type": "integer"}, "shop_domain": {"type": "string"}}}


def register_all() -> None:
    """Add the topics."""
    label = gettext_noop("App that left asked to erase")
    topics.register(SHOP_REDACT, scope="", render=_left_shop, shape=_left_shop_shape, label=label, example=current_shop)
    for name, label in (
        ("webhooks/create", gettext_noop("Webhook subscription made")),
        ("webhooks/update", gettext_noop("Webhook subscription changed")),
        ("webhooks/delete", gettext_noop("Webhook subscription ended")),
        ("webhooks/secret", gettext_noop("Signing secret replaced")),
        ("webhooks/recover", gettext_noop("Webhook deliveries sent once more")),
    ):
        topics.register(name, scope="", render=_nothing, label=label)
