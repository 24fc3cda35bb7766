"""What happens to shops, installations and tokens."""

from django.db.models import Model

from apps.api.context import Context
from apps.api.rows.plans import plan_for
from apps.events.domain import topics
from apps.ground.tenancy import current_shop
from apps.shops.api.resources import ShopSerializer
from apps.shops.models import AccessToken, Installation, Shop


def _shop_payload(instance: Model, version: str) -> dict[str, object]:
    shop = instance if isinstance(instance, Shop) else current_shop()
    shown: dict[str, object] = plan_for(ShopSerializer, version).read_one(shop.pk, Context(shop, version))
    return shown


def _scopes_payload(instance: Model, version: str) -> dict[str, object]:
    installation = instance.installation if isinstance(instance, AccessToken) else instance
    assert isinstance(installation, Installation)
    return {"id": installation.pk, "app": installation.app.name, "current": list(installation.scopes)}


def register_all() -> None:
    """Add the topics."""
    for name, render, label in (
        ("shop/create", _shop_payload, "Shop opened"),
        ("shop/update", _shop_payload, "Shop settings changed"),
        ("app/installed", _shop_payload, "App installed"),
        ("app/uninstalled", _shop_payload, "App uninstalled"),
        ("app/scopes_update", _scopes_payload, "App scopes changed"),
        ("access_tokens/create", _scopes_payload, "Access token made"),
        ("access_tokens/revoke", _scopes_payload, "Access token revoked"),
    ):
        topics.register(name, scope="", render=render, label=label)
