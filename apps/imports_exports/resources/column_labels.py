"""The labels of the columns of import files, in the language of the panel."""

from django.utils.translation import gettext, gettext_lazy

from apps.catalog.models import Product, Variant
from apps.core.admin.display.fields import get_field_label
from apps.customers.models import Address, Customer
from apps.imports_exports.resources.order_columns import (
    ADDRESSES,
    IMPORTED_LINE_FIELDS,
    LINE_FIELDS,
    LINE_FLAGS,
    NAMED_TAXES,
)
from apps.imports_exports.resources.products.table import (
    CLEARED,
    HANDLE,
    NOT_CLEARED,
    OPTION_NAMES,
    OPTION_VALUES,
    POLICY,
    PRODUCT_FLAGS,
    VARIANT_CLEARED,
    VARIANT_FLAGS,
    VARIANT_NOT_CLEARED,
)
from apps.inventory.models import InventoryItem
from apps.orders.models import LineItem, Order

# Labels of columns that are not fields of a model, or that need another label than their field.
_CUSTOMER_LABELS = {
    "name": gettext_lazy("Full name"),
    "province_name": gettext_lazy("Province name"),
    "province_code": gettext_lazy("Province code"),
    "country_code": gettext_lazy("Country code"),
    "address_phone": gettext_lazy("Address phone"),
    "accepts_sms_marketing": gettext_lazy("SMS marketing"),
    "orders_count": gettext_lazy("Number of orders"),
}
_ORDER_LABELS = {
    "order": gettext_lazy("Order number"),
    "phone": gettext_lazy("Order phone"),
    "paid": gettext_lazy("Paid amount"),
    "discount_code": gettext_lazy("Discount code"),
    "discount_amount": gettext_lazy("Discount amount"),
    "discount_codes": gettext_lazy("Discount codes with amount and type"),
    "shipping_title": gettext_lazy("Shipping method"),
    "shipping_price": gettext_lazy("Shipping price"),
    "shipping_tax_title": gettext_lazy("Shipping tax name"),
    "shipping_tax_rate": gettext_lazy("Shipping tax rate"),
    "shipping_tax": gettext_lazy("Shipping tax"),
    "not_in_csv": gettext_lazy("Parts that are not in CSV files"),
    "payment_method": gettext_lazy("Payment method"),
    "payment_reference": gettext_lazy("Payment reference"),
    "paid_at": gettext_lazy("Paid at"),
    "fulfilled_at": gettext_lazy("Fulfilled at"),
    "refunded_amount": gettext_lazy("Refunded amount"),
    "outstanding_balance": gettext_lazy("Balance due"),
}
_LINE_LABELS = {
    "title": gettext_lazy("Title"),
    "fulfilled": gettext_lazy("Fulfilled quantity"),
    "fulfillment_status": gettext_lazy("Fulfillment status"),
    "tax_title": gettext_lazy("Tax name"),
    "tax_rate": gettext_lazy("Tax rate"),
    "tax": gettext_lazy("Tax"),
    "duty": gettext_lazy("Duty"),
    "duty_hs_code": gettext_lazy("HS code"),
    "duty_origin": gettext_lazy("Country of origin"),
    "duty_tax_title": gettext_lazy("Duty tax name"),
    "duty_tax_rate": gettext_lazy("Duty tax rate"),
    "duty_tax": gettext_lazy("Duty tax"),
}
_TAX_LABELS = {
    column: (label, number)
    for number, pair in enumerate(NAMED_TAXES.items(), 1)
    for column, label in zip(
        pair, (gettext_lazy("Name of tax {number}"), gettext_lazy("Amount of tax {number}")), strict=True
    )
}
_ADDRESS_KINDS = {"billing": gettext_lazy("Billing address"), "shipping": gettext_lazy("Shipping address")}
_PRODUCT_LABELS = {
    HANDLE: gettext_lazy("Handle"),
    "Gift Card": gettext_lazy("Gift card"),
    "Status": gettext_lazy("Status"),
    "Collection": gettext_lazy("Collections"),
    "Image Src": gettext_lazy("Image URL"),
    "Image Position": gettext_lazy("Image position"),
    "Image Alt Text": gettext_lazy("Alternative text of the image"),
}
_VARIANT_LABELS = {
    "Variant Inventory Tracker": gettext_lazy("Inventory tracker"),
    "Variant Inventory Levels": gettext_lazy("Inventory per location"),
    "Variant Image": gettext_lazy("Image URL"),
    "Variant Tax Code": gettext_lazy("Tax code"),
}
_PRODUCT_FIELDS = CLEARED | NOT_CLEARED | PRODUCT_FLAGS
_VARIANT_FIELDS = VARIANT_CLEARED | VARIANT_NOT_CLEARED | VARIANT_FLAGS | {POLICY: "inventory_policy"}
_LINE_FIELDS = {**LINE_FIELDS, **LINE_FLAGS, **IMPORTED_LINE_FIELDS}


def get_customer_label(column: str) -> str:
    return str(_CUSTOMER_LABELS.get(column) or get_field_label(column, (Customer, Address)))


def get_order_label(column: str) -> str:
    """Return the label of a column of orders. Columns of items and addresses begin with the name of their part."""
    kind, _underscore, name = column.partition("_")
    if column in _ORDER_LABELS:
        return str(_ORDER_LABELS[column])
    if kind == "line":
        label = str(_LINE_LABELS.get(name) or get_field_label(_LINE_FIELDS.get(column, name), (LineItem,)))
        return _join(gettext("Item"), label)
    if kind in ADDRESSES:
        return _join(str(_ADDRESS_KINDS[kind]), get_customer_label(name))
    if column in _TAX_LABELS:
        text, number = _TAX_LABELS[column]
        return str(text).format(number=number)
    return get_field_label(column, (Order,))


def get_product_label(column: str) -> str:
    """Return the label of a column of products. Columns of variants begin with the name of their part."""
    if column in _PRODUCT_LABELS:
        return str(_PRODUCT_LABELS[column])
    if column in OPTION_NAMES:
        return _join(get_field_label(f"option{OPTION_NAMES.index(column) + 1}"), gettext("Name"))
    if column in OPTION_VALUES:
        return _join(get_field_label(OPTION_VALUES[column]), gettext("Value"))
    if column in _VARIANT_LABELS or column in _VARIANT_FIELDS:
        label = _VARIANT_LABELS.get(column) or get_field_label(_VARIANT_FIELDS[column], (Variant, InventoryItem))
        return _join(gettext("Variant"), str(label))
    return get_field_label(_PRODUCT_FIELDS.get(column, column), (Product,))


def _join(part: str, label: str) -> str:
    return f"{part}: {label}"
