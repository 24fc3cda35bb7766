"""Format recorded field names and values for staff, as field labels and localized values.

A recorded field name is the name of a database column or of an API field. Recorded values are JSON or text.
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
from django_stubs_ext import StrOrPromise

from apps.core.events.values import HIDDEN_VALUE
from apps.core.i18n import formats
from apps.core.registry import Registry
from apps.core.tenancy.permissions import get_permission_labels
from apps.core.tenancy.scope import get_current_shop

# Models that may have the field, beginning with the most likely model.
Models: TypeAlias = Iterable[type[Model]]

# Field labels that replace the verbose name of a column or the name of an API field.
_LABELS = {
    "accepts_marketing": gettext_lazy("Email marketing"),
    "address1": gettext_lazy("Address"),
    "address2": gettext_lazy("Apartment, suite, etc."),
    "alt": gettext_lazy("Alternative text"),
    "amount": gettext_lazy("Amount"),
    "app": gettext_lazy("App"),
    "assigned_location": gettext_lazy("Assigned location"),
    "body_html": gettext_lazy("Description"),
    "buyer": gettext_lazy("Customer"),
    "buyer_accepts_marketing": gettext_lazy("Customer accepts marketing"),
    "cancel_reason": gettext_lazy("Cancellation reason"),
    "cancelled_at": gettext_lazy("Canceled at"),
    "carrier_identifier": gettext_lazy("Carrier"),
    "closed_at": gettext_lazy("Closed at"),
    "confirmed": gettext_lazy("Confirmed"),
    "country_code": gettext_lazy("Country"),
    "country_code_of_origin": gettext_lazy("Country of origin"),
    "current_quantity": gettext_lazy("Current quantity"),
    "current_subtotal_price": gettext_lazy("Current subtotal"),
    "current_total_discounts": gettext_lazy("Current discounts"),
    "current_total_duties": gettext_lazy("Current duties"),
    "current_total_price": gettext_lazy("Current total"),
    "current_total_tax": gettext_lazy("Current tax"),
    "default_address": gettext_lazy("Default address"),
    "discount": gettext_lazy("Discount"),
    "discount_codes": gettext_lazy("Discount codes"),
    "domain": gettext_lazy("Domain"),
    "duties": gettext_lazy("Duties"),
    "email": gettext_lazy("Email"),
    "email_marketing_consent": gettext_lazy("Email marketing"),
    "exchange_rate": gettext_lazy("Exchange rate"),
    "failure": gettext_lazy("Failure"),
    "filter": gettext_lazy("Filter"),
    "fixed_prices": gettext_lazy("Fixed prices"),
    "format": gettext_lazy("Format"),
    "gateway": gettext_lazy("Gateway"),
    "gift_card": gettext_lazy("Gift card"),
    "grams": gettext_lazy("Weight in grams"),
    "harmonized_system_code": gettext_lazy("HS code"),
    "hold_reason": gettext_lazy("Hold reason"),
    "image": gettext_lazy("Image"),
    "include_fields": gettext_lazy("Included fields"),
    "installation": gettext_lazy("Installation"),
    "inventory_policy": gettext_lazy("When sold out"),
    "inventory_quantity": gettext_lazy("Inventory"),
    "is_removed": gettext_lazy("Removed"),
    "line_items": gettext_lazy("Items"),
    "lines": gettext_lazy("Items"),
    "merged_customer_id": gettext_lazy("Merged customer"),
    "merged_into_id": gettext_lazy("Merged into"),
    "metafield_namespaces": gettext_lazy("Metafield namespaces"),
    "metafields_global_description_tag": gettext_lazy("SEO description"),
    "metafields_global_title_tag": gettext_lazy("SEO title"),
    "method_type": gettext_lazy("Delivery method"),
    "note_attributes": gettext_lazy("Additional details"),
    "option1": gettext_lazy("Option 1"),
    "option2": gettext_lazy("Option 2"),
    "option3": gettext_lazy("Option 3"),
    "origin": gettext_lazy("Origin"),
    "origin_address": gettext_lazy("Origin address"),
    "presented_name": gettext_lazy("Delivery method"),
    "presentment_currency": gettext_lazy("Presentment currency"),
    "previewable": gettext_lazy("Can be previewed"),
    "primary_location_id": gettext_lazy("Primary location"),
    "processing": gettext_lazy("Processing"),
    "properties": gettext_lazy("Properties"),
    "province_code_of_origin": gettext_lazy("State or province of origin"),
    "publish_when_ready": gettext_lazy("Published when ready"),
    "published": gettext_lazy("Published"),
    "read_only_at": gettext_lazy("Read-only since"),
    "reason_notes": gettext_lazy("Reason notes"),
    "receipt": gettext_lazy("Receipt"),
    "redacted_at": gettext_lazy("Redacted at"),
    "request_status": gettext_lazy("Request status"),
    "requires_shipping": gettext_lazy("Requires shipping"),
    "restock": gettext_lazy("Restock"),
    "retired_at": gettext_lazy("Retired at"),
    "revoked_at": gettext_lazy("Revoked at"),
    "role": gettext_lazy("Role"),
    "rows": gettext_lazy("Rows"),
    "sent_at": gettext_lazy("Sent at"),
    "service_code": gettext_lazy("Service code"),
    "shipment_status": gettext_lazy("Shipment status"),
    "sku": gettext_lazy("SKU"),
    "sms_marketing_consent": gettext_lazy("SMS marketing"),
    "source_identifier": gettext_lazy("Source ID"),
    "source_name": gettext_lazy("Channel"),
    "split_off": gettext_lazy("Split off"),
    "src": gettext_lazy("Image URL"),
    "started_at": gettext_lazy("Started at"),
    "subtotal_price": gettext_lazy("Subtotal"),
    "taken_from": gettext_lazy("Taken from"),
    "tax_exemptions": gettext_lazy("Tax exemptions"),
    "tax_lines": gettext_lazy("Taxes"),
    "test": gettext_lazy("Test"),
    "total_discount": gettext_lazy("Discount"),
    "total_discounts": gettext_lazy("Discounts"),
    "total_duties": gettext_lazy("Duties"),
    "total_line_items_price": gettext_lazy("Items total"),
    "total_price": gettext_lazy("Total"),
    "total_shipping_price": gettext_lazy("Shipping"),
    "total_spent": gettext_lazy("Total spent"),
    "total_tax": gettext_lazy("Taxes"),
    "total_tip_received": gettext_lazy("Tip"),
    "total_weight": gettext_lazy("Total weight"),
    "tracked": gettext_lazy("Tracked"),
    "tracking_company": gettext_lazy("Carrier"),
    "tracking_numbers": gettext_lazy("Tracking numbers"),
    "tracking_urls": gettext_lazy("Tracking links"),
    "uninstalled_at": gettext_lazy("Uninstalled at"),
    "units_counted": gettext_lazy("Items counted"),
    "uri": gettext_lazy("Address"),
    "warnings": gettext_lazy("Warnings"),
    "zip": gettext_lazy("Postal code"),
}
# Labels of the values of fields that are not columns of the event's model, keyed by field.
value_labels = Registry[str, Mapping[str, StrOrPromise]]("labels of recorded values")
# Fields with amounts in the shop currency.
_AMOUNTS = frozenset({"price", "compare_at_price", "cost", "total_spent"})
# Fields with names of permissions for staff.
_PERMISSIONS = frozenset({"permissions", "view_only"})
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def get_subject_models(label: str) -> Models:
    """Return a tuple with the model of an event subject such as ``orders.order``, or () if the model was removed."""
    try:
        return (apps.get_model(label),)
    except LookupError:
        return ()


def get_field_label(field: str, models: Models = ()) -> str:
    """Return the label of a field. The label of a nested name such as ``addresses.0.city`` includes the position."""
    label = ""
    for part in field.split("."):
        if part.isdecimal() and label:
            label += f" {int(part) + 1}"
        else:
            label += ", " * bool(label) + str(_LABELS.get(part) or capfirst(_get_label(part, models)))
    return label


def format_field_value(field: str, value: object, models: Models = ()) -> str:
    """Format a field value for staff. Empty values become an empty string."""
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        if field in _PERMISSIONS:
            return ", ".join(get_permission_labels(str(item) for item in value))
        return ", ".join(format_field_value(field, item, models) for item in value)
    if isinstance(value, Mapping):
        return "; ".join(
            f"{get_field_label(str(name))}: {format_field_value(str(name), item)}" for name, item in value.items()
        )
    return _format_text(field, str(value), find_column(field, models))


def find_column(field: str, models: Models) -> "Field[Any, Any] | None":
    for model in models:
        with suppress(FieldDoesNotExist):
            column = model._meta.get_field(field)
            if isinstance(column, Field):
                return column
    return None


def _get_label(part: str, models: Models) -> str:
    """Return the column's verbose name, or the translated field name if the column has only a default verbose name."""
    column, plain = find_column(part, models), part.removesuffix("_id").replace("_", " ")
    verbose_name = str(column.verbose_name) if column is not None else plain
    return _(plain) if verbose_name == plain else verbose_name


def _format_text(field: str, text: str, column: "Field[Any, Any] | None") -> str:
    if text == HIDDEN_VALUE:
        return _(HIDDEN_VALUE)
    labels = dict(column.flatchoices) if column is not None and column.flatchoices else value_labels.get(field)
    if labels is not None:
        return str(labels.get(text, text))
    if isinstance(column, DateTimeField):
        return _format_timestamp(text)
    if not _NUMBER.fullmatch(text):
        return text
    if field in _AMOUNTS:
        return formats.format_amount(Decimal(text), get_current_shop().currency)
    is_number = isinstance(column, DecimalField | IntegerField) and not column.is_relation
    return formats.format_plain_number(text) if is_number else text


def _format_timestamp(text: str) -> str:
    """Format a timestamp in the shop's time zone. Return any other text unchanged."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return formats.format_date(moment, "j M Y, H:i")
