"""Register the topics for webhooks: changes to subscriptions (for the audit log only), and ``shop/redact``."""

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.api.types import Schema
from apps.events.domain import topics
from apps.ground.tenancy import get_current_shop
from apps.ground.types import Attrs
from apps.webhooks.domain.topics import SHOP_REDACT


def _render_id(instance: Model, version: str) -> Attrs:
    return {"id": instance.pk}


def _render_shop_redact(instance: Model, version: str) -> Attrs:
    shop = get_current_shop()
    return {"shop_id": shop.pk, "shop_domain": shop.domain}


def _shop_redact_schema(version: str) -> Schema:
    return {"type": "object", "properties": {"shop_id": {"type": "integer"}, "shop_domain": {"type": "string"}}}


def register_webhook_topics() -> None:
    label = gettext_noop("Data erasure request sent to uninstalled app")
    topics.register_topic(
        SHOP_REDACT,
        scope="",
        render=_render_shop_redact,
        shape=_shop_redact_schema,
        label=label,
        example=get_current_shop,
    )
    for name, label in (
        ("webhooks/create", gettext_noop("Webhook subscription created")),
        ("webhooks/update", gettext_noop("Webhook subscription changed")),
        ("webhooks/delete", gettext_noop("Webhook subscription deleted")),
        ("webhooks/secret", gettext_noop("Signing secret replaced")),
        ("webhooks/recover", gettext_noop("Webhook deliveries replayed")),
    ):
        topics.register_topic(name, scope="", render=_render_id, label=label)
