from collections.abc import Collection, Mapping
from functools import partial

from django.conf import settings
from django.db.models import Model
from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.core.events.topics import Topic, topics
from apps.core.money import format_decimal
from apps.core.rest.openapi.schemas import build_resource_schema
from apps.core.rest.reading.query_plans import get_read_plan
from apps.core.rest.render_context import RenderContext
from apps.core.tenancy.models import AccessToken, App, Installation, Shop
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Schema
from apps.shops.api.resources import ShopSerializer
from apps.shops.domain import charges, purchases
from apps.shops.models import AppPurchase, RecurringCharge, ShopCountry, ShopProvince, get_current_usage

_PURCHASE_GID = "gid://{brand}/AppPurchaseOneTime/"
_SUBSCRIPTION_GID = "gid://{brand}/AppSubscription/"
_shop_shape = partial(build_resource_schema, ShopSerializer)


def _shop_payload(instance: Model, version: str) -> dict[str, object]:
    shop = instance if isinstance(instance, Shop) else get_current_shop()
    return get_read_plan(ShopSerializer, version).read_one(shop.pk, RenderContext(shop, version))


def _scopes_payload(instance: Model, version: str) -> dict[str, object]:
    installation = instance.installation if isinstance(instance, AccessToken) else instance
    assert isinstance(installation, Installation)
    return {
        "id": installation.pk,
        "app": installation.app.name,
        "previous": list(installation.previous_scopes),
        "current": list(installation.scopes),
        "updated_at": installation.updated_at.astimezone(get_current_shop().tzinfo).isoformat(timespec="seconds"),
    }


def _id_payload(instance: Model, version: str) -> dict[str, object]:
    return {"id": instance.pk}


def _app_payload(instance: Model, version: str) -> dict[str, object]:
    assert isinstance(instance, App)
    return {"id": instance.pk, "app": instance.name}


def _country_payload(instance: Model, version: str) -> dict[str, object]:
    assert isinstance(instance, ShopCountry | ShopProvince)
    return {"id": instance.pk, "code": instance.code}


def _purchase_payload(instance: Model, version: str) -> dict[str, object]:
    assert isinstance(instance, AppPurchase)
    zone, brand = get_current_shop().tzinfo, settings.BRAND
    payload = {
        "admin_graphql_api_id": f"{_PURCHASE_GID.format(brand=brand)}{instance.pk}",
        "name": instance.name,
        "status": instance.status.upper(),
        "admin_graphql_api_shop_id": f"gid://{brand}/Shop/{instance.shop_id}",
        "created_at": instance.created_at.astimezone(zone).isoformat(timespec="seconds"),
        "updated_at": instance.updated_at.astimezone(zone).isoformat(timespec="seconds"),
    }
    return {"app_purchase_one_time": payload}


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
    properties = {"app_purchase_one_time": {"type": "object", "properties": members}}
    return {"type": "object", "properties": properties}


def _is_own_purchase(payload: Mapping[str, object], app_id: int, _granted: Collection[str]) -> bool:
    """Return True if the app requested the purchase. Apps must not learn about payments to other apps."""
    purchase = payload["app_purchase_one_time"]
    gid = str(purchase["admin_graphql_api_id"]) if isinstance(purchase, Mapping) else ""
    pk = gid.removeprefix(_PURCHASE_GID.format(brand=settings.BRAND))
    return AppPurchase.objects.filter(pk=pk, installation__app_id=app_id).exists()


def _charge_payload(instance: Model, version: str) -> dict[str, object]:
    assert isinstance(instance, RecurringCharge)
    zone, brand = get_current_shop().tzinfo, settings.BRAND
    cap, today = instance.capped_amount, timezone.now().astimezone(zone).date()
    used = get_current_usage(
        instance.balance_used, instance.balance_period, instance.activated_on, instance.trial_days, today
    )
    payload = {
        "admin_graphql_api_id": f"{_SUBSCRIPTION_GID.format(brand=brand)}{instance.pk}",
        "name": instance.name,
        "status": instance.status.upper(),
        "admin_graphql_api_shop_id": f"gid://{brand}/Shop/{instance.shop_id}",
        "created_at": instance.created_at.astimezone(zone).isoformat(timespec="seconds"),
        "updated_at": instance.updated_at.astimezone(zone).isoformat(timespec="seconds"),
        "currency": instance.currency,
        "price": format_decimal(instance.price, instance.currency),
        "capped_amount": None if cap is None else format_decimal(cap, instance.currency),
        "balance_used": format_decimal(used, instance.currency),
    }
    return {"app_subscription": payload}


def _charge_shape(_version: str) -> Schema:
    text, moment = {"type": "string"}, {"type": "string", "format": "date-time"}
    members = {
        "admin_graphql_api_id": text,
        "name": text,
        "status": {**text, "enum": [status.value.upper() for status in RecurringCharge.Status]},
        "admin_graphql_api_shop_id": text,
        "created_at": moment,
        "updated_at": moment,
        "currency": text,
        "price": text,
        "capped_amount": {"type": ["string", "null"]},
        "balance_used": text,
    }
    return {"type": "object", "properties": {"app_subscription": {"type": "object", "properties": members}}}


def _is_own_charge(payload: Mapping[str, object], app_id: int, _granted: Collection[str]) -> bool:
    """Return True if the app requested the charge, as in ``_is_own_purchase``."""
    charge = payload["app_subscription"]
    gid = str(charge["admin_graphql_api_id"]) if isinstance(charge, Mapping) else ""
    pk = gid.removeprefix(_SUBSCRIPTION_GID.format(brand=settings.BRAND))
    return RecurringCharge.objects.filter(pk=pk, installation__app_id=app_id).exists()


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


for name, render, shape, label, example in (
    ("shop/update", _shop_payload, _shop_shape, gettext_noop("Shop settings changed"), get_current_shop),
    ("app/uninstalled", _shop_payload, _shop_shape, gettext_noop("App uninstalled"), get_current_shop),
    ("app/scopes_update", _scopes_payload, _scopes_shape, gettext_noop("App scopes changed"), Installation),
):
    topics.add(Topic(name=name, render=render, label=label, is_offered=True, get_schema=shape, example=example))
topics.add(
    Topic(
        name=purchases.TOPIC,
        render=_purchase_payload,
        label=gettext_noop("App purchase changed"),
        is_offered=True,
        get_schema=_purchase_shape,
        is_allowed=_is_own_purchase,
        example=AppPurchase,
    )
)
for name, label in (
    (charges.TOPIC, gettext_noop("App subscription changed")),
    (charges.LIMIT_TOPIC, gettext_noop("App subscription almost used up")),
):
    topics.add(
        Topic(
            name=name,
            render=_charge_payload,
            label=label,
            is_offered=True,
            get_schema=_charge_shape,
            is_allowed=_is_own_charge,
            example=RecurringCharge,
        )
    )
for name, render, label in (
    ("shop/create", _shop_payload, gettext_noop("Shop created")),
    ("app/installed", _shop_payload, gettext_noop("App installed")),
    ("apps/create", _app_payload, gettext_noop("App registered")),
    ("apps/update", _app_payload, gettext_noop("App registration changed")),
    ("apps/delete", _app_payload, gettext_noop("App registration deleted")),
    ("apps/secret", _app_payload, gettext_noop("App secret replaced")),
    ("apps/old_secret_ended", _app_payload, gettext_noop("Old app secret revoked")),
    ("countries/create", _country_payload, gettext_noop("Country added")),
    ("countries/update", _country_payload, gettext_noop("Tax of a country changed")),
    ("countries/delete", _country_payload, gettext_noop("Country deleted")),
    ("provinces/update", _country_payload, gettext_noop("Tax of a province changed")),
    ("storefront_access_tokens/create", _id_payload, gettext_noop("Storefront access token created")),
    ("storefront_access_tokens/delete", _id_payload, gettext_noop("Storefront access token deleted")),
    ("application_credits/create", _id_payload, gettext_noop("App credit granted")),
    ("marketing_events/create", _id_payload, gettext_noop("Marketing event created")),
    ("marketing_events/update", _id_payload, gettext_noop("Marketing event changed")),
    ("marketing_events/delete", _id_payload, gettext_noop("Marketing event deleted")),
    ("access_tokens/create", _scopes_payload, gettext_noop("Access token created")),
    ("access_tokens/revoke", _scopes_payload, gettext_noop("Access token revoked")),
):
    # These topics are only for the audit log.
    topics.add(Topic(name=name, render=render, label=label))
