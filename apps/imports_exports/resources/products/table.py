"""Convert products to CSV rows and back.

A product has one row per variant, and more rows if the product has more images than variants. The first row also has
the values of the product itself. A row contains a variant if any variant column has a value.
"""

from collections.abc import Iterable, Sequence

from apps.core.i18n.messages import define_message
from apps.imports_exports.domain.csv_reader import format_bool
from apps.imports_exports.domain.flags import find_flag, parse_flag, parse_flags
from apps.imports_exports.domain.resources import ObjectData
from apps.imports_exports.domain.rows import Body, Cells, UnreadableCell
from apps.imports_exports.resources.cells import format_list_cell, parse_list_cell, parse_value_list

_BAD_LEVEL = define_message("product_imports.bad_level", "{text} must have the format Location|quantity")

# Most columns come from the platform that our REST API follows. A few columns are our own.
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
PRODUCT_FLAGS = {"Published": "published", "Gift Card": "gift_card"}
VARIANT_FLAGS = {"Variant Requires Shipping": "requires_shipping", "Variant Taxable": "taxable"}
TRACKER = "Variant Inventory Tracker"
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
# The names in newer files of the platform, and in files of other systems.
ALIASES = {
    HANDLE: ("URL handle", "Slug"),
    "Title": ("Product Title",),
    "Body (HTML)": ("Description",),
    "Type": ("Product Type",),
    "Vendor": ("Brand",),
    "Published": ("Published on online store",),
    "Variant SKU": ("SKU",),
    "Variant Barcode": ("Barcode",),
    "Variant Price": ("Price",),
    "Variant Compare At Price": ("Compare-at price",),
    "Cost per item": ("Cost",),
    "Variant Taxable": ("Charge tax",),
    "Variant Tax Code": ("Tax code",),
    "Variant Inventory Tracker": ("Inventory tracker",),
    "Variant Inventory Qty": ("Inventory quantity", "Stock"),
    POLICY: ("Continue selling when out of stock",),
    "Variant Grams": ("Weight value (grams)",),
    "Variant Weight Unit": ("Weight unit for display",),
    "Variant Requires Shipping": ("Requires shipping",),
    "Variant Fulfillment Service": ("Fulfillment service",),
    "Image Src": ("Product image URL", "Image URL"),
    "Variant Image": ("Variant image URL",),
    "Variant HS Code": ("HS Code",),
    "Variant Country of Origin": ("Country of Origin",),
    "Collection": ("Collections",),
}

# Our columns, keyed by the paths of their fields.
FIELD_COLUMNS = {
    **{name: column for column, name in (CLEARED | NOT_CLEARED | PRODUCT_FLAGS).items()},
    "collections": "Collection",
    "options.name": "Option1 Name",
    **{
        f"variants.{name}": column
        for column, name in (
            OPTION_VALUES | VARIANT_CLEARED | VARIANT_NOT_CLEARED | VARIANT_FLAGS | {POLICY: "inventory_policy"}
        ).items()
    },
    "variants.inventory_levels": LEVELS,
    "images.src": "Image Src",
    "images.position": "Image Position",
    "images.alt": "Image Alt Text",
}
_POLICIES = ("continue", "deny")
_PRODUCT_COLUMNS = (*CLEARED, *NOT_CLEARED, "Published", "Status", "Gift Card", "Collection", *OPTION_NAMES)


def convert_product_to_rows(product: ObjectData) -> Iterable[ObjectData]:
    """Convert a product from the REST API to CSV rows."""
    first = {column: product.get(name) for column, name in (CLEARED | NOT_CLEARED).items()}
    first |= {
        "Published": format_bool(product["published_at"] is not None),
        "Status": product["status"],
        "Gift Card": format_bool(False),
        "Collection": format_list_cell([title] for title in product["collections"]),
    }
    first |= {name: option["name"] for name, option in zip(OPTION_NAMES, product["options"], strict=False)}
    variants, images = product["variants"], product["images"]
    for index in range(max(len(variants), len(images), 1)):
        row: ObjectData = {HANDLE: product["handle"], **(first if index == 0 else {})}
        if index < len(variants):
            row |= _get_variant_cells(variants[index])
        if index < len(images):
            image = images[index]
            row |= {"Image Src": image["src"], "Image Position": image["position"], "Image Alt Text": image["alt"]}
        yield row


def _get_variant_cells(variant: ObjectData) -> ObjectData:
    levels = variant["inventory_levels"]
    return {
        **{column: variant[name] for column, name in (OPTION_VALUES | VARIANT_CLEARED | VARIANT_NOT_CLEARED).items()},
        **{column: format_bool(variant[name]) for column, name in VARIANT_FLAGS.items()},
        POLICY: variant["inventory_policy"],
        # Blank if only the primary location stocks the item, because the quantity column has the same value.
        LEVELS: format_list_cell((level["location"], level["available"]) for level in levels)
        if variant["spread"]
        else "",
    }


def parse_product_rows(rows: Sequence[Cells]) -> Body:
    """Convert the rows of a product to a request body. Raise ``UnreadableCell`` if a cell can't be parsed."""
    first = _get_product_cells(rows)
    body: dict[str, object] = {"handle": first[HANDLE], **parse_flags(first, PRODUCT_FLAGS)}
    body |= {name: first[column] for column, name in CLEARED.items() if column in first}
    body |= {name: first[column] for column, name in NOT_CLEARED.items() if first.get(column)}
    if first.get("Status"):
        body["status"] = first["Status"].strip().lower()
    if first.get("Collection"):
        body["collections"] = parse_value_list(first["Collection"])
    names = [first[name] for name in OPTION_NAMES if first.get(name)]
    if names:
        body["options"] = [{"name": name} for name in names]
    variants = [_parse_variant(row) for row in rows if any(row.get(name) for name in VARIANT_COLUMNS)]
    if variants:
        body["variants"] = variants
    if any("Image Src" in row for row in rows):
        body["images"] = list({row["Image Src"]: _parse_image(row) for row in rows if row.get("Image Src")}.values())
    return body


def _get_product_cells(rows: Sequence[Cells]) -> Cells:
    """Return the cells of the product itself, which are in the first row, unless the rows were sorted."""
    first = rows[0]
    if len(rows) == 1 or first.get("Title"):
        return first
    missing = [column for column in _PRODUCT_COLUMNS if column in first and not first[column]]
    found = {column: next(filter(None, (row.get(column) for row in rows)), "") for column in missing}
    return {**first, **found}


def _parse_variant(row: Cells) -> ObjectData:
    variant: ObjectData = {
        name: row[column] for column, name in (OPTION_VALUES | VARIANT_NOT_CLEARED).items() if row.get(column)
    }
    variant |= {name: row[column] or None for column, name in VARIANT_CLEARED.items() if column in row}
    # In this column, a blank cell means an empty string. In all other columns, a blank cell means null.
    if "tax_code" in variant:
        variant["tax_code"] = row["Variant Tax Code"]
    variant |= parse_flags(row, VARIANT_FLAGS)
    if find_flag(row.get(TRACKER, "")) is False:
        variant["inventory_management"] = None
    if row.get(POLICY, "").strip():
        policy = row[POLICY].strip().lower()
        variant["inventory_policy"] = policy if policy in _POLICIES else _POLICIES[not parse_flag(POLICY, policy)]
    if "weight_unit" in variant:
        variant["weight_unit"] = variant["weight_unit"].strip().lower()
    if row.get(LEVELS):
        variant["inventory_levels"] = [_parse_level(values) for values in parse_list_cell(row[LEVELS])]
    return variant


def _parse_level(values: Sequence[str]) -> ObjectData:
    if len(values) != 2:
        raise UnreadableCell(LEVELS, _BAD_LEVEL(text=repr("|".join(values))))
    return {"location": values[0], "available": values[1]}


def _parse_image(row: Cells) -> ObjectData:
    image: ObjectData = {"src": row["Image Src"].strip()}
    if row.get("Image Position"):
        image["position"] = row["Image Position"]
    if "Image Alt Text" in row:
        image["alt"] = row["Image Alt Text"]
    return image
