"""Declare which text columns of orders never contain personal data (see ``apps.ground.privacy_registry``)."""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "orders.Order": (
        "name",
        "token",
        "confirmation_number",
        "currency",
        "presentment_currency",
        "discount_codes",
        "discount_applications",
        "tax_lines",
        "payment_gateway_names",
        "source_name",
        "customer_locale",
    ),
    "orders.Comment": ("actor",),
    "orders.LineItem": (
        "title",
        "variant_title",
        "name",
        "sku",
        "vendor",
        "tax_lines",
        "duties",
        "discount_allocations",
        "fulfillment_service",
        "variant_inventory_management",
        "taken_from",
    ),
    "orders.ShippingLine": ("title", "code", "source", "carrier_identifier", "tax_lines", "discount_allocations"),
    "orders.Transaction": ("gateway", "currency", "source_name"),
}
