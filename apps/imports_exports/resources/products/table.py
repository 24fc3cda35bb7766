"""Convert products to CSV rows and back.

A product has one row per variant, and more rows if the product has more images than variants. The first row also has
the values of the product itself. A row contains a variant if any variant column has a value.
"""

from collections.abc import Iterable, Sequence

from apps.core.i18n.messages import define_message, define_text
from apps.imports_exports.domain.csv_reader import format_bool, is_true
from apps.imports_exports.domain.resources import ObjectData
from apps.imports_exports.domain.rows import Body, Cells, UnreadableCell
from apps.imports_exports.resources.cells import format_list_cell, parse_list_cell, parse_value_list
from apps.imports_exports.resources.products.columns import (
    CLEARED,
    HANDLE,
    LEVELS,
    NOT_CLEARED,
    OPTION_NAMES,
    OPTION_VALUES,
    POLICY,
    VARIANT_CLEARED,
    VARIANT_COLUMNS,
    VARIANT_FLAGS,
    VARIANT_NOT_CLEARED,
)

_BAD_LEVEL = define_message("product_imports.bad_level", "{text} must have the format Location|quantity")
_NO_GIFT_CARDS = define_text("product_imports.no_gift_cards", "gift cards are not supported")

_POLICIES = {"true": "continue", "yes": "continue", "false": "deny", "no": "deny"}


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
    """Convert the rows of a product to a request body.

    Raises:
        UnreadableCell: If a cell can't be parsed.
    """
    first = rows[0]
    if is_true(first.get("Gift Card", "")):
        raise UnreadableCell("Gift Card", _NO_GIFT_CARDS)
    body: dict[str, object] = {"handle": first[HANDLE]}
    body |= {name: first[column] for column, name in CLEARED.items() if column in first}
    body |= {name: first[column] for column, name in NOT_CLEARED.items() if first.get(column)}
    if first.get("Published"):
        body["published"] = is_true(first["Published"])
    if first.get("Status"):
        body["status"] = first["Status"].strip().lower()
    if first.get("Collection"):
        body["collections"] = list(parse_value_list(first["Collection"]))
    names = [first[name] for name in OPTION_NAMES if first.get(name)]
    if names:
        body["options"] = [{"name": name} for name in names]
    variants = [_parse_variant(row) for row in rows if any(row.get(name) for name in VARIANT_COLUMNS)]
    if variants:
        body["variants"] = variants
    if any("Image Src" in row for row in rows):
        body["images"] = list({row["Image Src"]: _parse_image(row) for row in rows if row.get("Image Src")}.values())
    return body


def _parse_variant(row: Cells) -> ObjectData:
    variant: ObjectData = {
        name: row[column] for column, name in (OPTION_VALUES | VARIANT_NOT_CLEARED).items() if row.get(column)
    }
    variant |= {name: row[column] or None for column, name in VARIANT_CLEARED.items() if column in row}
    # In this column, a blank cell means an empty string. In all other columns, a blank cell means null.
    if "tax_code" in variant:
        variant["tax_code"] = row["Variant Tax Code"]
    variant |= {name: is_true(row[column]) for column, name in VARIANT_FLAGS.items() if row.get(column)}
    if row.get(POLICY):
        policy = row[POLICY].strip().lower()
        variant["inventory_policy"] = _POLICIES.get(policy, policy)
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
