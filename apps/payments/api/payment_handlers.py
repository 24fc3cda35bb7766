import re
from collections.abc import Callable
from typing import Unpack

from django.http import HttpResponse
from rest_framework.request import Request

from apps.core.i18n.error_messages import INVALID, NOT_IN_LIST
from apps.core.money import is_currency
from apps.core.rest.exceptions import BadRequest
from apps.core.rest.resources.fields import (
    ApiField,
    ComputedField,
    FieldOptions,
    ModelDerivedField,
    ReadOnlyColumn,
    Render,
    TextField,
)
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs, Errors, Schema
from apps.payments.domain import discovery, entry_validation, handlers, schemas, token_redemption
from apps.payments.models import PaymentHandlerConfig

_CHECKOUT_ID = re.compile(r"[\x21-\x7e]{1,255}")


class EntryField(ApiField):
    """A part of the published entry. ``domain.entry_validation`` validates the entry as a whole."""

    def __init__(self, schema: Schema, **options: Unpack[FieldOptions]) -> None:
        super().__init__(**options)
        self.schema = schema

    def to_internal_value(self, data: object) -> object:
        if data == "":
            self.fail("blank")
        return data


class SchemaUrlField(EntryField):
    """The URL of the handler's schema. Clients may send it, but only schema URLs of this installation are valid."""

    def get_columns(self) -> tuple[str, ...]:
        return ("handler_version",)

    def get_renderer(self) -> Render:
        return lambda _context, version: schemas.get_schema_url(version)


# Both schemas allow unknown members, because handlers may have more members than the published schema lists.
_OBJECT: Schema = {"type": "object"}
_INSTRUMENTS: Schema = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "description": "An instrument with the type wallet_pay and its constraints in this shop.",
    },
}


class PaymentHandlerSerializer(ResourceSerializer[PaymentHandlerConfig]):
    name = ReadOnlyColumn("handler_name")
    handler_id = TextField(max_length=128)
    version = TextField(source="handler_version", max_length=10)
    spec = ComputedField(
        lambda _context, version: schemas.get_spec_url(version),
        "handler_version",
        schema={"type": "string", "format": "uri"},
    )
    schema = SchemaUrlField({"type": "string", "format": "uri"}, required=False)
    available_instruments = EntryField(_INSTRUMENTS, required=False, allow_null=True)
    config = EntryField(_OBJECT)
    enabled = ModelDerivedField()
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()

    def validate_across_fields(self, attrs: Attrs, instance: PaymentHandlerConfig | None, errors: Errors) -> None:
        entry_errors = entry_validation.find_entry_errors(handlers.build_entry(instance, attrs))
        for field, messages in entry_errors.items():
            # In the published entry, ``id`` is the handler ID. In REST, ``id`` is the ID of the row.
            errors.setdefault("handler_id" if field == "id" else field, messages)


_TEXT: Schema = {"type": "string", "maxLength": token_redemption.MAX_ID}
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
    scope = "payment_handlers"
    serializer_class = PaymentHandlerSerializer
    singular = "payment_handler"
    version_columns = ("version",)
    query_parameters = {"checkout_response": ("currency", "country", "checkout_id", "instruments")}
    request_bodies = {"redeem": _REDEEM}
    success_statuses = {"redeem": 201}
    responses = {
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
        return handlers.create_handler(attrs, actor=self.actor, at=self.at)

    def perform_update(self, instance: PaymentHandlerConfig, attrs: Attrs) -> None:
        handlers.update_handler(instance, attrs, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: PaymentHandlerConfig) -> None:
        handlers.delete_handler(instance, actor=self.actor, at=self.at)

    def checkout_response(self, request: Request, **_: int) -> HttpResponse:
        """Return a payment handler's entry as a checkout receives it, or no entry if the handler does not apply."""
        body = discovery.build_checkout_response(
            self.get_object(),
            currency=self._code("currency", is_currency),
            country=self._code("country", entry_validation.get_country_codes().__contains__),
            checkout_id=self._code("checkout_id", _CHECKOUT_ID.fullmatch, INVALID),
            instruments=None if (types := self.query.get("instruments")) is None else types.split(","),
        )
        return self.json_response(body)

    def redeem(self, request: Request, **_: int) -> HttpResponse:
        """Redeem the token of a payment instrument for a checkout."""
        values = self.unwrap_body("redemption")
        redemption = token_redemption.redeem_token(self.get_object(), values, actor=self.actor, at=self.at)
        body = {name: getattr(redemption, name) for name in ("id", "handler_id", "checkout_id", "instrument_id")}
        moment = redemption.created_at.astimezone(self.context.tz).isoformat(timespec="seconds")
        return self.json_response({"redemption": {**body, "created_at": moment}}, 201)

    def _code(self, name: str, is_valid: Callable[[str], object], message: str = NOT_IN_LIST) -> str | None:
        value = self.query.get(name)
        if value is not None and not is_valid(value):
            raise BadRequest({name: message})
        return value
