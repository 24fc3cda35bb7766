"""What happens to shops, installations and tokens."""

from collections.abc import Collection, Mapping

from django.conf import settings
from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.api.context import Context
from apps.api.openapi.schemas import resource_schema
from apps.api.rows.plans import plan_for
from apps.api.shapes import Schema
from apps.events.domain import topics
from apps.ground.tenancy import current_shop
from apps.shops.api.resources import ShopSerializer
from apps.shops.domain import purchases
from apps.shops.models import AccessToken, App, AppPurchase, Installation, Shop

_PURCHASE_GID = "gid://{brand}/AppPurchaseOneTime/"


def _shop_payload(instance: Model, version: str) -> dict[str, object]:
    shop = instance if isinstance(instance, Shop) else current_shop()
    shown: dict[str, object] = plan_for(ShopSerializer, version).read_one(shop.pk, Context(shop, version))
    return shown


def _scopes_payload(instance: Model, version: str) -> dict[str, object]:
    installation = instance.installation if isinstance(instance, AccessToken) else instance
    assert isinstance(installation, Installation)
    return {
        "id": installation.pk,
        "app": installation.app.name,
        "previous": list(installation.previous_scopes),
        "current": list(installation.scopes),
        "updated_at": installation.updated_at.astimezone(current_shop().tzinfo).isoformat(timespec="seconds"),
    }


def _app_payload(instance: Model, version: str) -> dict[str, object]:
    assert isinstance(instance, App)
    return {"id": instance.pk, "app": instance.name}


def _purchase_payload(instance: Model, version: str) -> dict[str, object]:
    assert isinstance(instance, AppPurchase)
    zone, brand = current_shop().tzinfo, settings.BRAND
    shown = {
        "admin_graphql_api_id": f"{_PURCHASE_GID.format(brand=brand)}{instance.pk}",
        "name": instance.name,
        "status": instance.status.upper(),
        "admin_graphql_api_shop_id": f"gid://{brand}/Shop/{instance.shop_id}",
        "created_at": instance.created_at.astimezone(zone).isoformat(timespec="seconds"),
        "updated_at": instance.updated_at.astimezone(zone).isoformat(timespec="seconds"),
    }
    return {"app_purchase_one_time": shown}


def _purchase_shape(_version: str) -> Schema:
    text, moment = {"type": "string"}, {"type": "string", "format": "date-time"}
    members = {
        "admin_graphql_api_id": text,
        "name": text,
        "status": {**text, "enum": [status.value.upper() for status in AppPurchase.Status]},
        "admin_graphql_api_shop_id": text,
        "created_at": moment,
        "updated_at": moment,
    }
    whole = {"app_purchase_one_time": {"type": "object", "properties": members}}
    return {"type": "object", "properties": whole}


def _asked_for(payload: Mapping[str, object], app_id: int, _granted: Collection[str]) -> bool:
    """Whether a purchase is the app's own: no app hears what others are paid."""
    shown = payload["app_purchase_one_time"]
    gid = str(shown["admin_graphql_api_id"]) if isinstance(shown, Mapping) else ""
    pk = gid.removeprefix(_PURCHASE_GID.format(brand=settings.BRAND))
    return AppPurchase.objects.filter(pk=pk, installation__app_id=app_id).exists()


def register_all() -> None:
    """Add the topics."""
    for name, render, shape, label, example in (
        ("shop/update", _shop_payload, _shop_shape, gettext_noop("Shop settings changed"), current_shop),
        ("app/uninstalled", _shop_payload, _shop_shape, gettext_noop("App uninstalled"), current_shop),
        ("app/scopes_update", _scopes_payload, _scopes_shape, gettext_noop("App scopes changed"), Installation),
    ):
        topics.register(name, scope="", render=render, label=label, offered=True, shape=shape, example=example)
    topics.register(
        purchases.TOPIC,
        scope="",
        render=_purchase_payload,
        label=gettext_noop("One-time purchase of an app"),
        offered=True,
        shape=_purchase_shape,
        hears=_asked_for,
        example=AppPurchase,
    )
    for name, render, label in (
        ("shop/create", _shop_payload, gettext_noop("Shop opened")),
        ("app/installed", _shop_payload, gettext_noop("App installed")),
        ("apps/create", _app_payload, gettext_noop("App registered")),
        ("apps/update", _app_payload, gettext_noop("Registration of an app changed")),
        ("apps/delete", _app_payload, gettext_noop("Registration of an app removed")),
        ("apps/secret", _app_payload, gettext_noop("Secret of an app replaced")),
        ("apps/old_secret_ended", _app_payload, gettext_noop("Old secret of an app ended")),
        ("access_tokens/create", _scopes_payload, gettext_noop("Access token made")),
        ("access_tokens/revoke", _scopes_payload, gettext_noop("Access token revoked")),
    ):
        # For the audit trail alone.
        topics.register(name, scope="", render=render, label=label)


def _shop_shape(version: str) -> Schema:
    return resource_schema(ShopSerializer, version)


def _scopes_shape(_version: str) -> Schema:
    scopes = {"type": "array", "items": {"type": "string"}}
    return {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "app": {"type": "string"},
            "previous": scopes,
            "current": scopes,
            "updated_at": {"type": "string", "format": "date-time"},
        },
    }
