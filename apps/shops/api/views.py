"""Routes about the caller itself: its shop, its scopes, its installation."""

from decimal import Decimal

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request

from apps.api.errors import ApiError, error_response
from apps.api.resources.serializers import declaration
from apps.api.rows.plans import plan_for
from apps.api.viewsets import ApiView
from apps.ground.money import plain
from apps.ground.phrases import NOT_FOUND
from apps.shops.api.resources import ShopSerializer
from apps.shops.domain import installing
from apps.shops.domain.presentment import Presentment, presentments_of


class ShopView(ApiView):
    """``GET /shop.json``: the shop that the token belongs to."""

    serializer_class = ShopSerializer
    singular = "shop"

    def retrieve(self, request: Request) -> HttpResponse:
        """The shop, or the fields of it that are asked for."""
        asked = {name.strip().replace("-", "_") for name in self.query.get("fields", "").split(",")} - {""}
        names = frozenset(asked & declaration(ShopSerializer).keys()) if asked else None
        plan = plan_for(ShopSerializer, self.version, names)
        return self.json({"shop": plan.read_one(self.shop.pk, self.context)})


class AccessScopeView(ApiView):
    """``GET /admin/oauth/access_scopes.json``: the scopes that the shop granted the app."""

    answers = {
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
        """The scopes by handle."""
        return self.json({"access_scopes": [{"handle": scope} for scope in self.access.installation.scopes]})


class CurrencyView(ApiView):
    """``GET /currencies.json``: the currencies that the shop shows prices in."""

    answers = {
        "list": {
            "type": "object",
            "required": ["currencies"],
            "properties": {
                "currencies": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["currency", "enabled", "rate", "rounding"],
                        "properties": {
                            "currency": {"type": "string"},
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
        """The shop's own first, then the others with their rates and rounding rules."""
        every = (Presentment(self.shop.currency, Decimal(1)), *presentments_of(self.shop))
        shown = [
            {
                "currency": each.currency,
                "enabled": True,
                "rate": None if each.rate is None else plain(each.rate),
                "rounding": each.rounding,
            }
            for each in every
        ]
        return self.json({"currencies": shown})


class InstallationView(ApiView):
    """``DELETE /admin/api_permissions/current.json``: the app leaves the shop."""

    def destroy(self, request: Request) -> HttpResponse:
        """Uninstall the calling app; its tokens are useless at once."""
        if not self.access.may_uninstall:
            raise ApiError("[API] The person behind this token may not uninstall apps.", status=403)
        with transaction.atomic():
            installing.uninstall(self.access.installation, actor=self.actor, at=self.at)
        return self.json({})


def not_found(request: HttpRequest, rest: str) -> HttpResponse:
    """No such route."""
    return error_response(NOT_FOUND, 404)
