"""CSV columns of product files.

Most columns come from the platform that our REST API follows. A few columns are our own.
"""

HANDLE = "Handle"
# These dicts map CSV columns to our field names. A blank cell clears a field in ``CLEARED``, but does not change a
# field in ``NOT_CLEARED``.
CLEARED = {
    "Body (HTML)": "body_html",
    "Type": "product_type",
    "Tags": "tags",
    "Template Suffix": "template_suffix",
    "SEO Title": "metafields_global_title_tag",
    "SEO Description": "metafields_global_description_tag",
}
NOT_CLEARED = {"Title": "title", "Vendor": "vendor", "Published Scope": "published_scope"}
VARIANT_CLEARED = {
    "Variant SKU": "sku",
    "Variant Inventory Tracker": "inventory_management",
    "Variant Compare At Price": "compare_at_price",
    "Variant Barcode": "barcode",
    "Variant Tax Code": "tax_code",
    "Variant Country of Origin": "country_code_of_origin",
    "Variant Province of Origin": "province_code_of_origin",
    "Variant HS Code": "harmonized_system_code",
}
VARIANT_NOT_CLEARED = {
    "Variant Grams": "grams",
    "Variant Weight": "weight",
    "Variant Weight Unit": "weight_unit",
    "Variant Inventory Qty": "inventory_quantity",
    "Variant Fulfillment Service": "fulfillment_service",
    "Variant Price": "price",
    "Cost per item": "cost",
    "Variant Image": "image",
}
VARIANT_FLAGS = {"Variant Requires Shipping": "requires_shipping", "Variant Taxable": "taxable"}
POLICY, LEVELS, QUANTITY = "Variant Inventory Policy", "Variant Inventory Levels", "Variant Inventory Qty"
OPTION_NAMES = tuple(f"Option{number} Name" for number in (1, 2, 3))
OPTION_VALUES = {f"Option{number} Value": f"option{number}" for number in (1, 2, 3)}
VARIANT_COLUMNS = (*OPTION_VALUES, *VARIANT_CLEARED, *VARIANT_NOT_CLEARED, *VARIANT_FLAGS, POLICY, LEVELS)

COLUMNS = (
    HANDLE,
    "Title",
    "Body (HTML)",
    "Vendor",
    "Type",
    "Tags",
    "Published",
    *(column for pair in zip(OPTION_NAMES, OPTION_VALUES, strict=True) for column in pair),
    "Variant SKU",
    "Variant Grams",
    "Variant Inventory Tracker",
    "Variant Inventory Qty",
    POLICY,
    "Variant Fulfillment Service",
    "Variant Price",
    "Variant Compare At Price",
    "Variant Requires Shipping",
    "Variant Taxable",
    "Variant Barcode",
    "Image Src",
    "Image Position",
    "Image Alt Text",
    "Gift Card",
    "SEO Title",
    "SEO Description",
    "Variant Image",
    "Variant Weight Unit",
    "Variant Tax Code",
    "Cost per item",
    "Status",
    "Collection",
    # Our own columns, for data that the platform's files do not contain.
    "Variant Weight",
    LEVELS,
    "Variant Country of Origin",
    "Variant Province of Origin",
    "Variant HS Code",
    "Published Scope",
    "Template Suffix",
)
# Columns of the platform's files that have no field in Backoffice.
UNSUPPORTED = (
    "Product Category",
    *(f"Option{number} Linked To" for number in (1, 2, 3)),
    "Unit Price Total Measure",
    "Unit Price Total Measure Unit",
    "Unit Price Base Measure",
    "Unit Price Base Measure Unit",
    "Google Shopping / Google Product Category",
    "Google Shopping / Gender",
    "Google Shopping / Age Group",
    "Google Shopping / MPN",
    "Google Shopping / AdWords Grouping",
    "Google Shopping / AdWords Labels",
    "Google Shopping / Ad group name",
    "Google Shopping / Ads labels",
    "Google Shopping / Condition",
    "Google Shopping / Custom Product",
    *(f"Google Shopping / Custom Label {number}" for number in range(5)),
)
# Maps column names in newer files of the platform, and in files of other systems, to our column names.
ALIASES = {
    "URL handle": HANDLE,
    "Slug": HANDLE,
    "Product Title": "Title",
    "Description": "Body (HTML)",
    "Product Type": "Type",
    "Brand": "Vendor",
    "Published on online store": "Published",
    "SKU": "Variant SKU",
    "Barcode": "Variant Barcode",
    "Price": "Variant Price",
    "Compare-at price": "Variant Compare At Price",
    "Cost": "Cost per item",
    "Charge tax": "Variant Taxable",
    "Tax code": "Variant Tax Code",
    "Inventory tracker": "Variant Inventory Tracker",
    "Inventory quantity": "Variant Inventory Qty",
    "Stock": "Variant Inventory Qty",
    "Continue selling when out of stock": POLICY,
    "Weight value (grams)": "Variant Grams",
    "Weight unit for display": "Variant Weight Unit",
    "Requires shipping": "Variant Requires Shipping",
    "Fulfillment service": "Variant Fulfillment Service",
    "Product image URL": "Image Src",
    "Image URL": "Image Src",
    "Variant image URL": "Variant Image",
    "HS Code": "Variant HS Code",
    "Country of Origin": "Variant Country of Origin",
    "Collections": "Collection",
}
