"""Register the topics for webhooks: changes to subscriptions (for the audit log only), and ``shop/redact``."""

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.core.events.topics import Topic, topics
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, Schema
from apps.webhooks.domain.topics import SHOP_REDACT


def _render_id(instance: Model, version: str) -> Attrs:
    return {"id": instance.pk}


def _render_shop_redact(instance: Model, version: str) -> Attrs:
    shop = get_current_shop()
    return {"shop_id": shop.pk, "shop_domain": shop.domain}


def _shop_redact_schema(version: str) -> Schema:
    return {"type": "object", "properties": {"shop_id": {"type": "integer"}, "shop_domain": {"type": "string"}}}


topics.add(
    Topic(
        name=SHOP_REDACT,
        render=_render_shop_redact,
        get_schema=_shop_redact_schema,
        label=gettext_noop("Data erasure request sent to uninstalled app"),
        example=get_current_shop,
    )
)
for name, label in (
    ("webhooks/create", gettext_noop("Webhook created")),
    ("webhooks/update", gettext_noop("Webhook changed")),
    ("webhooks/delete", gettext_noop("Webhook deleted")),
    ("webhooks/secret", gettext_noop("Signing secret replaced")),
    ("webhooks/recover", gettext_noop("Webhook deliveries replayed")),
):
    topics.add(Topic(name=name, render=_render_id, label=label))
