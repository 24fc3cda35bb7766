"""Catalog columns that never contain personal data (see ``apps.ground.privacy_registry``)."""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "catalog.Product": (
        "title",
        "title_key",
        "handle",
        "body_html",
        "vendor",
        "vendor_key",
        "product_type",
        "product_type_key",
        "tags",
        "template_suffix",
    ),
    "catalog.ProductOption": ("name", "values"),
    "catalog.ProductTag": ("name", "key"),
    "catalog.Collection": (
        "title",
        "title_key",
        "handle",
        "body_html",
        "template_suffix",
        "rules",
        "image_key",
        "image_name",
        "image_alt",
    ),
    "catalog.ProductImage": ("alt", "key", "name", "source"),
    "catalog.Variant": (
        "title",
        "title_key",
        "option1",
        "option2",
        "option3",
        "barcode",
        "tax_code",
        "fulfillment_service",
        "fixed_prices",
    ),
}
