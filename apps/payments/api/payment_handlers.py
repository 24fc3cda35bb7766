"""Payment handlers over REST."""

import re
from collections.abc import Callable
from typing import Unpack

from django.http import HttpResponse
from rest_framework.request import Request

from apps.api.context import Context
from apps.api.errors import BadRequest
from apps.api.resources.fields import ApiField, Column, Computed, FromModel, Render, TextField
from apps.api.resources.fields.options import FieldOptions
from apps.api.resources.serializers import ResourceSerializer
from apps.api.shapes import Attrs, Errors, Schema
from apps.api.viewsets import ShopViewSet
from apps.ground.money import is_currency
from apps.ground.phrases import INVALID, NOT_IN_LIST
from apps.payments.domain import configuring, discovery, entries, publishing, redeeming
from apps.payments.models import PaymentHandlerConfig

# In an entry, the handler's own id is called ``id``; over REST that is the row's.
_OUTER = {"id": "handler_id"}
_CHECKOUT_ID = re.compile(r"[\x21-\x7e]{1,255}")


class EntryPart(ApiField):
    """A part of what is published, taken as it came: the check of the whole entry looks at it.

    Args:
        schema: Its JSON schema.
    """

    def __init__(self, schema: Schema, **options: Unpack[FieldOptions]) -> None:
        """Declare what it looks like."""
        super().__init__(**options)
        self.schema = schema

    def to_internal_value(self, data: object) -> object:
        """As it came."""
        return data


class SchemaUrl(EntryPart):
    """Where the handler's schema is published; one that is sent back must be an address of ours."""

    def columns(self) -> tuple[str, ...]:
        """The version that it is the schema of."""
        return ("handler_version",)

    def reader(self) -> Render:
        """The public address."""
        return _schema_url


def _schema_url(_context: Context, version: str) -> str:
    return publishing.schema_url(version)


def _spec_url(_context: Context, version: str) -> str:
    return publishing.spec_url(version)


# Both are open: the published schema says which members are known, and further ones are kept.
_OBJECT: Schema = {"type": "object"}
_INSTRUMENTS: Schema = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "object", "description": "With its type, wallet_pay, and the constraints that it has here."},
}


class PaymentHandlerSerializer(ResourceSerializer[PaymentHandlerConfig]):
    """A payment handler as the interface shows it."""

    name = Column("handler_name")
    handler_id = TextField(max_length=128)
    version = TextField(source="handler_version", max_length=10)
    spec = Computed(_spec_url, "handler_version", schema={"type": "string", "format": "uri"})
    schema = SchemaUrl({"type": "string", "format": "uri"}, required=False)
    available_instruments = EntryPart(_INSTRUMENTS, required=False, allow_null=True)
    config = EntryPart(_OBJECT)
    enabled = FromModel()
    created_at = FromModel()
    updated_at = FromModel()

    class Meta:
        model = PaymentHandlerConfig

    def check(self, attrs: Attrs, instance: PaymentHandlerConfig | None, errors: Errors) -> None:
        """What must not be published, beside what is missing."""
        found = entries.refusals(configuring.entry_of(instance, attrs))
        for field, messages in found.items():
            errors.setdefault(_outer(field), messages)


def _outer(field: str) -> str:
    return _OUTER.get(field, field)


_TEXT: Schema = {"type": "string", "maxLength": redeeming.MAX_ID}
_REDEEM: Schema = {
    "type": "object",
    "required": ["redemption"],
    "properties": {
        "redemption": {
            "type": "object",
            "required": ["checkout_id", "payment_instrument"],
            "properties": {"checkout_id": _TEXT, "payment_instrument": _OBJECT},
        }
    },
}
_REDEMPTION: Schema = {
    "type": "object",
    "required": ["redemption"],
    "properties": {
        "redemption": {
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                **dict.fromkeys(("handler_id", "checkout_id", "instrument_id"), _TEXT),
                "created_at": {"type": "string", "format": "date-time"},
            },
        }
    },
}


class PaymentHandlerViewSet(ShopViewSet[PaymentHandlerConfig]):
    """``/payment_handlers``."""

    scope = "payment_handlers"
    model = PaymentHandlerConfig
    serializer_class = PaymentHandlerSerializer
    singular = "payment_handler"
    plural = "payment_handlers"
    versions = ("version",)
    queries = {"checkout_response": ("currency", "country", "checkout_id", "instruments")}
    bodies = {"redeem": _REDEEM}
    statuses = {"redeem": 201}
    answers = {
        "redeem": _REDEMPTION,
        "checkout_response": {
            "type": "object",
            "required": ["ucp"],
            "properties": {
                "ucp": {
                    "type": "object",
                    "required": ["version", "payment_handlers"],
                    "properties": {
                        "version": {"type": "string"},
                        "payment_handlers": {
                            "type": "object",
                            "additionalProperties": {"type": "array", "items": _OBJECT},
                        },
                    },
                }
            },
        },
    }

    def perform_create(self, attrs: Attrs) -> PaymentHandlerConfig:
        """Make the handler."""
        return configuring.create_handler(attrs, actor=self.actor, at=self.at)

    def perform_update(self, instance: PaymentHandlerConfig, attrs: Attrs) -> None:
        """Change the handler."""
        configuring.change_handler(instance, attrs, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: PaymentHandlerConfig) -> None:
        """Remove the handler."""
        configuring.delete_handler(instance, actor=self.actor, at=self.at)

    def checkout_response(self, request: Request, **_: int) -> HttpResponse:
        """Show the entry of a payment handler as a checkout would get it; none where it does not fit."""
        found = discovery.checkout_response(
            self.get_object(),
            currency=self._code("currency", is_currency),
            country=self._code("country", entries.country_codes().__contains__),
            checkout_id=self._code("checkout_id", _CHECKOUT_ID.fullmatch, INVALID),
            instruments=None if (named := self.query.get("instruments")) is None else named.split(","),
        )
        return self.json(found)

    def redeem(self, request: Request, **_: int) -> HttpResponse:
        """Accept the token of a payment instrument for a checkout; no answer repeats it."""
        given = self.unwrapped("redemption")
        redemption = redeeming.redeem(self.get_object(), given, actor=self.actor, at=self.at)
        shown = {name: getattr(redemption, name) for name in ("id", "handler_id", "checkout_id", "instrument_id")}
        moment = redemption.created_at.astimezone(self.context.tz).isoformat(timespec="seconds")
        return self.json({"redemption": {**shown, "created_at": moment}}, 201)

    def _code(self, name: str, fits: Callable[[str], object], refusal: str = NOT_IN_LIST) -> str | None:
        """A parameter of the query.

        Raises:
            BadRequest: It does not fit.
        """
        value = self.query.get(name)
        if value is not None and not fits(value):
            raise BadRequest({name: refusal})
        return value
