"""Columns and values that were noted of rows, as staff read them: names in words, values in the reader's way.

Noted are the names that columns have in the database or in the interface, with values as JSON or as texts.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeAlias

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist
from django.db.models import DateTimeField, DecimalField, Field, IntegerField, Model
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.events.domain.changes import HIDDEN
from apps.ground import languages
from apps.ground.tenancy import current_shop

# Where a column is looked for, the likeliest first.
Models: TypeAlias = Iterable[type[Model]]

# What forms call a field that the interface calls otherwise.
_CALLED = {
    "accepts_marketing": gettext_lazy("E-mail marketing"),
    "address1": gettext_lazy("Address"),
    "address2": gettext_lazy("Apartment, floor"),
    "alt": gettext_lazy("Alternative text"),
    "amount": gettext_lazy("Amount"),
    "app": gettext_lazy("App"),
    "assigned_location": gettext_lazy("Assigned location"),
    "body_html": gettext_lazy("Description"),
    "buyer": gettext_lazy("Buyer"),
    "buyer_accepts_marketing": gettext_lazy("Marketing accepted by the buyer"),
    "cancel_reason": gettext_lazy("Reason of the cancellation"),
    "cancelled_at": gettext_lazy("Cancelled at"),
    "carrier_identifier": gettext_lazy("Carrier"),
    "closed_at": gettext_lazy("Closed at"),
    "confirmed": gettext_lazy("Confirmed"),
    "country_code": gettext_lazy("Country"),
    "country_code_of_origin": gettext_lazy("Country of origin"),
    "current_quantity": gettext_lazy("Quantity now"),
    "current_subtotal_price": gettext_lazy("Goods now"),
    "current_total_discounts": gettext_lazy("Discounts now"),
    "current_total_duties": gettext_lazy("Duties now"),
    "current_total_price": gettext_lazy("Total now"),
    "current_total_tax": gettext_lazy("Taxes now"),
    "default_address": gettext_lazy("Default address"),
    "discount": gettext_lazy("Discount"),
    "discount_codes": gettext_lazy("Discount codes"),
    "domain": gettext_lazy("Domain"),
    "duties": gettext_lazy("Duties"),
    "email": gettext_lazy("E-mail"),
    "email_marketing_consent": gettext_lazy("E-mail marketing"),
    "exchange_rate": gettext_lazy("Exchange rate"),
    "failure": gettext_lazy("Failure"),
    "filter": gettext_lazy("Filter"),
    "fixed_prices": gettext_lazy("Fixed prices"),
    "format": gettext_lazy("Format"),
    "gateway": gettext_lazy("Gateway"),
    "gift_card": gettext_lazy("Gift card"),
    "grams": gettext_lazy("Weight in grams"),
    "harmonized_system_code": gettext_lazy("HS code"),
    "hold_reason": gettext_lazy("Reason of the hold"),
    "image": gettext_lazy("Image"),
    "include_fields": gettext_lazy("Fields that are sent"),
    "installation": gettext_lazy("Installation"),
    "inventory_policy": gettext_lazy("When sold out"),
    "inventory_quantity": gettext_lazy("Stock"),
    "line_items": gettext_lazy("Lines"),
    "lines": gettext_lazy("Lines"),
    "merged_customer_id": gettext_lazy("Merged customer"),
    "merged_into_id": gettext_lazy("Merged into"),
    "metafield_namespaces": gettext_lazy("Namespaces of metafields"),
    "metafields_global_description_tag": gettext_lazy("Description for search engines"),
    "metafields_global_title_tag": gettext_lazy("Title for search engines"),
    "method_type": gettext_lazy("Way of delivery"),
    "note_attributes": gettext_lazy("Additional details"),
    "option1": gettext_lazy("Option 1"),
    "option2": gettext_lazy("Option 2"),
    "option3": gettext_lazy("Option 3"),
    "origin": gettext_lazy("Origin"),
    "origin_address": gettext_lazy("Place of departure"),
    "presented_name": gettext_lazy("Way of delivery"),
    "presentment_currency": gettext_lazy("Currency of the buyer"),
    "previewable": gettext_lazy("Can be previewed"),
    "primary_location_id": gettext_lazy("First location"),
    "processing": gettext_lazy("Being processed"),
    "properties": gettext_lazy("Properties"),
    "province_code_of_origin": gettext_lazy("Province of origin"),
    "publish_when_ready": gettext_lazy("Published when ready"),
    "published": gettext_lazy("Published"),
    "read_only_at": gettext_lazy("Read-only since"),
    "reason_notes": gettext_lazy("Notes on the reason"),
    "receipt": gettext_lazy("Receipt"),
    "redacted_at": gettext_lazy("Erased at"),
    "request_status": gettext_lazy("Request"),
    "requires_shipping": gettext_lazy("Has to be sent"),
    "restock": gettext_lazy("Back to stock"),
    "retired_at": gettext_lazy("Withdrawn at"),
    "revoked_at": gettext_lazy("Revoked at"),
    "role": gettext_lazy("Role"),
    "rows": gettext_lazy("Rows"),
    "sent_at": gettext_lazy("Sent at"),
    "service_code": gettext_lazy("Service code"),
    "shipment_status": gettext_lazy("State of the parcel"),
    "sku": gettext_lazy("SKU"),
    "sms_marketing_consent": gettext_lazy("SMS marketing"),
    "source_identifier": gettext_lazy("Number elsewhere"),
    "source_name": gettext_lazy("Channel"),
    "split_off": gettext_lazy("Split off"),
    "src": gettext_lazy("Address of the picture"),
    "started_at": gettext_lazy("Begun at"),
    "subtotal_price": gettext_lazy("Subtotal"),
    "taken_from": gettext_lazy("Taken from"),
    "tax_exemptions": gettext_lazy("Tax exemptions"),
    "tax_lines": gettext_lazy("Taxes"),
    "test": gettext_lazy("Test"),
    "total_discount": gettext_lazy("Discount"),
    "total_discounts": gettext_lazy("Discounts"),
    "total_duties": gettext_lazy("Duties"),
    "total_line_items_price": gettext_lazy("Lines in total"),
    "total_price": gettext_lazy("Total"),
    "total_shipping_price": gettext_lazy("Shipping"),
    "total_spent": gettext_lazy("Spent"),
    "total_tax": gettext_lazy("Taxes"),
    "total_tip_received": gettext_lazy("Tip"),
    "total_weight": gettext_lazy("Weight in total"),
    "tracked": gettext_lazy("Counted"),
    "tracking_company": gettext_lazy("Carrier"),
    "tracking_numbers": gettext_lazy("Tracking numbers"),
    "tracking_urls": gettext_lazy("Tracking links"),
    "uninstalled_at": gettext_lazy("Uninstalled at"),
    "units_counted": gettext_lazy("Units counted"),
    "uri": gettext_lazy("Address"),
    "warnings": gettext_lazy("Warnings"),
    "zip": gettext_lazy("Postal code"),
}
# Fields of amounts in the shop's currency.
_AMOUNTS = frozenset({"price", "compare_at_price", "cost", "total_spent"})
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def models_of(label: str) -> Models:
    """The model that an event is about, by its label such as ``orders.order``; none where it is gone."""
    try:
        return (apps.get_model(label),)
    except LookupError:
        return ()


def name_of(field: str, models: Models = ()) -> str:
    """What staff call a field; one of a list within another, ``addresses.0.city``, with its place."""
    said = ""
    for part in field.split("."):
        if part.isdecimal() and said:
            said += f" {int(part) + 1}"
        else:
            said += ", " * bool(said) + str(_CALLED.get(part) or capfirst(_called(part, models)))
    return said


def names_of_changes(subject: str, changes: Iterable[str]) -> list[str]:
    """What staff call the fields that an event changed, in their order; ``subject`` as for ``models_of``."""
    return sorted(name_of(name, models_of(subject)) for name in changes)


def value_of(field: str, value: object, models: Models = ()) -> str:
    """What staff read for a value of a field; nothing for none."""
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        return ", ".join(value_of(field, each, models) for each in value)
    if isinstance(value, Mapping):
        return "; ".join(f"{name_of(str(name))}: {value_of(str(name), each)}" for name, each in value.items())
    return _text_of(field, str(value), column_of(field, models))


def column_of(field: str, models: Models) -> "Field[Any, Any] | None":
    """The column of that name of the first model that has one."""
    for model in models:
        with suppress(FieldDoesNotExist):
            column = model._meta.get_field(field)
            if isinstance(column, Field):
                return column
    return None


def amount(field: str, text: str) -> str:
    """A value that was stored as a text, as people read it: those of amounts in the reader's way of writing them."""
    if field in _AMOUNTS and _NUMBER.fullmatch(text):
        return languages.amount(Decimal(text), current_shop().currency)
    return languages.retold_amount(text) if field == "total_price" else text


def _called(part: str, models: Models) -> str:
    """A column by its verbose name; what is none in words, as far as the language knows them."""
    column, plain = column_of(part, models), part.removesuffix("_id").replace("_", " ")
    named = str(column.verbose_name) if column is not None else plain
    return _(plain) if named == plain else named


def _text_of(field: str, text: str, column: "Field[Any, Any] | None") -> str:
    if text == HIDDEN:
        return _(HIDDEN)
    if column is not None and column.flatchoices:
        return str(dict(column.flatchoices).get(text, text))
    if isinstance(column, DateTimeField):
        return _moment(text)
    if isinstance(column, DecimalField | IntegerField) and not column.is_relation and field not in _AMOUNTS:
        return languages.retold_amount(text)
    return amount(field, text)


def _moment(text: str) -> str:
    """A moment in the shop's time; what is none stays as it is."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return languages.dated(moment, "j M Y, H:i")
