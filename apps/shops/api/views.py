from decimal import Decimal

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request

from apps.core.i18n.error_messages import NOT_FOUND
from apps.core.money import format_plain
from apps.core.rest.exceptions import ApiError, render_error
from apps.core.rest.reading.query_plans import get_read_plan
from apps.core.rest.resources.serializers import get_declared_fields
from apps.core.rest.viewsets import ApiView
from apps.core.tenancy.access_scopes import expand_scopes
from apps.core.tenancy.currency_conversion import Presentment, get_presentments, get_rate_times
from apps.shops.api.resources import ShopSerializer
from apps.shops.domain import app_installation


class ShopView(ApiView):
    """``GET /shop.json``: the shop of the access token."""

    serializer_class = ShopSerializer
    singular = "shop"

    def retrieve(self, request: Request) -> HttpResponse:
        """Return the requested fields of the shop."""
        requested_fields = {name.strip().replace("-", "_") for name in self.query.get("fields", "").split(",")} - {""}
        names = frozenset(requested_fields & get_declared_fields(ShopSerializer).keys()) if requested_fields else None
        plan = get_read_plan(ShopSerializer, self.version, names)
        return self.json_response({"shop": plan.read_one(self.shop.pk, self.context)})


class AccessScopeView(ApiView):
    """``GET /admin/oauth/access_scopes.json``: the access scopes of the installation."""

    responses = {
        "list": {
            "type": "object",
            "required": ["access_scopes"],
            "properties": {
                "access_scopes": {
                    "type": "array",
                    "items": {"type": "object", "required": ["handle"], "properties": {"handle": {"type": "string"}}},
                }
            },
        }
    }

    def list(self, request: Request) -> HttpResponse:
        """Return the access scopes of the token, including the read scopes that write scopes imply."""
        scopes = sorted(expand_scopes(self.access.installation.scopes))
        return self.json_response({"access_scopes": [{"handle": scope} for scope in scopes]})


class CurrencyView(ApiView):
    """``GET /currencies.json``: the presentment currencies of the shop."""

    responses = {
        "list": {
            "type": "object",
            "required": ["currencies"],
            "properties": {
                "currencies": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["currency", "rate_updated_at", "enabled", "rate", "rounding"],
                        "properties": {
                            "currency": {"type": "string"},
                            "rate_updated_at": {"type": "string", "format": "date-time"},
                            "enabled": {"type": "boolean"},
                            "rate": {"type": ["string", "null"]},
                            "rounding": {"type": "string"},
                        },
                    },
                }
            },
        }
    }

    def list(self, request: Request) -> HttpResponse:
        """Return the shop currency, followed by the other currencies with rates and rounding rules."""
        times = {**get_rate_times(self.shop), self.shop.currency: self.shop.created_at}
        presentments = (Presentment(self.shop.currency, Decimal(1)), *get_presentments(self.shop))
        currencies = [
            {
                "currency": presentment.currency,
                "rate_updated_at": times[presentment.currency]
                .astimezone(self.context.tz)
                .isoformat(timespec="seconds"),
                "enabled": True,
                "rate": None if presentment.rate is None else format_plain(presentment.rate),
                "rounding": presentment.rounding,
            }
            for presentment in presentments
        ]
        return self.json_response({"currencies": currencies})


class InstallationView(ApiView):
    """``DELETE /admin/api_permissions/current.json``: the app uninstalls itself."""

    def destroy(self, request: Request) -> HttpResponse:
        """Uninstall the calling app and revoke all of its tokens."""
        if not self.access.may_uninstall:
            raise ApiError("[API] The person behind this token may not uninstall apps.", status=403)
        with transaction.atomic():
            app_installation.uninstall_app(self.access.installation, actor=self.actor, at=self.at)
        return self.json_response({})


def not_found(request: HttpRequest, path: str) -> HttpResponse:
    return render_error(NOT_FOUND, 404)
