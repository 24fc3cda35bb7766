"""Columns and values that were noted of rows, as staff read them: names in words, values in the reader's way.

Noted are the names that columns have in the database or in the interface, with values as JSON or as texts.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeAlias

from django.core.exceptions import FieldDoesNotExist
from django.db.models import DateTimeField, DecimalField, Field, IntegerField, Model
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

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
    "body_html": gettext_lazy("Description"),
    "buyer": gettext_lazy("Buyer"),
    "cancel_reason": gettext_lazy("Reason of the cancellation"),
    "country_code_of_origin": gettext_lazy("Country of origin"),
    "discount_codes": gettext_lazy("Discount codes"),
    "email": gettext_lazy("E-mail"),
    "email_marketing_consent": gettext_lazy("E-mail marketing"),
    "exchange_rate": gettext_lazy("Exchange rate"),
    "gift_card": gettext_lazy("Gift card"),
    "grams": gettext_lazy("Weight in grams"),
    "harmonized_system_code": gettext_lazy("HS code"),
    "inventory_policy": gettext_lazy("When sold out"),
    "inventory_quantity": gettext_lazy("Stock"),
    "line_items": gettext_lazy("Lines"),
    "lines": gettext_lazy("Lines"),
    "metafields_global_description_tag": gettext_lazy("Description for search engines"),
    "metafields_global_title_tag": gettext_lazy("Title for search engines"),
    "option1": gettext_lazy("Option 1"),
    "option2": gettext_lazy("Option 2"),
    "option3": gettext_lazy("Option 3"),
    "presentment_currency": gettext_lazy("Currency of the buyer"),
    "province_code_of_origin": gettext_lazy("Province of origin"),
    "published": gettext_lazy("Published"),
    "requires_shipping": gettext_lazy("Has to be sent"),
    "sku": gettext_lazy("SKU"),
    "sms_marketing_consent": gettext_lazy("SMS marketing"),
    "src": gettext_lazy("Address of the picture"),
    "subtotal_price": gettext_lazy("Subtotal"),
    "tax_lines": gettext_lazy("Taxes"),
    "total_discounts": gettext_lazy("Discounts"),
    "total_price": gettext_lazy("Total"),
    "total_spent": gettext_lazy("Spent"),
    "total_tax": gettext_lazy("Taxes"),
    "total_tip_received": gettext_lazy("Tip"),
    "tracked": gettext_lazy("Counted"),
    "zip": gettext_lazy("Postal code"),
}
# Fields of amounts in the shop's currency.
_AMOUNTS = frozenset({"price", "compare_at_price", "cost", "total_spent"})
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def name_of(field: str, models: Models = ()) -> str:
    """What staff call a field; one of a list within another, ``addresses.0.city``, with its place."""
    said = ""
    for part in field.split("."):
        if part.isdecimal() and said:
            said += f" {int(part) + 1}"
        else:
            said += ", " * bool(said) + str(_CALLED.get(part) or capfirst(_called(part, models)))
    return said


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
    column, plain = column_of(part, models), part.replace("_", " ")
    named = str(column.verbose_name) if column is not None else plain
    return _(plain) if named == plain else named


def _text_of(field: str, text: str, column: "Field[Any, Any] | None") -> str:
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
