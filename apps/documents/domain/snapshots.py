"""Build and verify the snapshot of an issued document: everything that it shows, as JSON values.

The snapshot has no contact data, notes or properties of items, because an invoice does not need them. The delivery
address and the PO number are stored apart from the snapshot, so that they can be erased.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

import orjson
from django.utils import translation

from apps.core.money import ZERO, format_decimal
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.documents.domain.amounts import DocumentAmounts, Row
from apps.documents.domain.labels import match_document_language
from apps.documents.models import DocumentSettings, IssuedDocument
from apps.orders.models import Order
from apps.shops.domain.address_formats import format_address

_VERSION = 1
_LETTER_COUNTRIES = frozenset({"US", "CA", "MX", "PH", "CL", "CO", "VE", "GT", "CR", "PA", "DO"})
_SHOP_ADDRESS = ("address1", "address2", "zip", "city", "province", "province_code", "country_code")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The values of a new document. ``delivery_address`` is None unless it differs from the recipient's address."""

    language: str
    content: Attrs
    delivery_address: list[str] | None


def build_snapshot(
    order: Order,
    amounts: DocumentAmounts,
    *,
    shop: Shop,
    settings: DocumentSettings,
    name: str,
    at: datetime,
    invoice: IssuedDocument | None,
) -> Snapshot:
    """Build the snapshot of a document with the number ``name``. A credit note has the recipient of its invoice."""
    language = choose_language(order, shop, settings)
    if invoice is None:
        recipient, delivery = _get_addresses(order, language)
    else:
        recipient, delivery = invoice.snapshot["recipient"], invoice.delivery_address
    content = {
        "version": _VERSION,
        "name": name,
        "date": get_day(at, shop),
        "page_format": get_page_format(shop),
        **({} if invoice is None else {"invoice": invoice.name}),
        "shop": describe_shop(shop, language),
        "footer": settings.footer,
        "order": {
            "name": order.name,
            "date": get_day(order.processed_at, shop),
        },
        "recipient": recipient,
        **serialize_amounts(order, amounts),
    }
    return Snapshot(language, content, delivery)


def get_day(at: datetime, shop: Shop) -> str:
    return at.astimezone(shop.tzinfo).date().isoformat()


def get_page_format(shop: Shop) -> str:
    return "letter" if shop.country_code in _LETTER_COUNTRIES else "A4"


def choose_language(order: Order, shop: Shop, settings: DocumentSettings) -> str:
    if settings.language:
        return settings.language
    return match_document_language(order.customer_locale, shop.primary_locale)


def describe_shop(shop: Shop, language: str) -> Attrs:
    with translation.override(language):
        address = format_address({name: getattr(shop, name) for name in _SHOP_ADDRESS})
    return {"name": shop.name, "address": address, "email": shop.customer_email or shop.email, "phone": shop.phone}


def _get_addresses(order: Order, language: str) -> tuple[list[str], list[str] | None]:
    with translation.override(language):
        billing, shipping = (_format(address) for address in (order.billing_address, order.shipping_address))
    recipient = billing or shipping or _get_customer_name(order)
    return recipient, shipping if billing and shipping and shipping != billing else None


def _get_customer_name(order: Order) -> list[str]:
    return [order.customer.name] if order.customer is not None and order.customer.name else []


def _format(address: ReadOnlyAttrs | None) -> list[str]:
    return format_address({**address, "phone": ""}) if address else []


def serialize_amounts(order: Order, amounts: DocumentAmounts) -> Attrs:
    def money(amount: Any) -> str:
        return format_decimal(amount, order.currency)

    def serialize(row: Row) -> Attrs:
        item = {"sku": row.sku, "quantity": row.quantity, "price": money(row.price), "discount": money(row.discount)}
        return {
            "label": row.label,
            "name": row.name,
            **(item if row.quantity else {}),
            "rates": list(dict.fromkeys(tax["rate"] for tax in row.taxes)),
            "amount": money(row.amount),
        }

    presentment = {"currency": order.presentment_currency}
    presentment["total"] = format_decimal(amounts.presentment_total, order.presentment_currency)
    return {
        "currency": order.currency,
        "taxes_included": order.taxes_included,
        "lines": [serialize(row) for row in amounts.lines],
        "others": [serialize(row) for row in amounts.others],
        "subtotal": money(sum((row.amount for row in amounts.lines), ZERO)),
        "taxes": [
            {"title": tax.title, "rate": tax.rate, "base": money(tax.base), "price": money(tax.price)}
            for tax in amounts.taxes
        ],
        "total": money(amounts.total),
        "presentment": presentment if order.is_multi_currency else None,
    }


def calculate_checksum(content: Mapping[str, Any]) -> str:
    return sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()
