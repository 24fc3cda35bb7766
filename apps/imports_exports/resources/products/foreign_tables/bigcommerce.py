"""The product tables that BigCommerce exports, in its older (v2) and newer (v3) form.

The rows of a product follow each other: the product, then its SKUs or variants, rules and images.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from apps.core.i18n.messages import define_message
from apps.core.money import format_plain
from apps.imports_exports.domain.flags import find_flag
from apps.imports_exports.domain.foreign_tables.formats import (
    PREVIOUS,
    ConvertedObject,
    RowLinks,
    SourceRow,
    TableFormat,
)
from apps.imports_exports.resources.products.foreign_tables import values
from apps.imports_exports.resources.products.table import HANDLE, QUANTITY

_UNUSED_RULE = define_message("foreign_tables.unused_rule", "The rule {rule} was not imported: {value}")
# The names in the newer form, keyed by the names in the older form.
_NEWER = {
    "itemtype": "item",
    "productid": "id",
    "productname": "name",
    "producttype": "type",
    "productcodesku": "sku",
    "brandname": "brand",
    "productdescription": "description",
    "productweight": "weight",
    "productvisible": "isvisible",
    "trackinventory": "inventorytracking",
    "currentstocklevel": "currentstock",
    "category": "categories",
    "productupcean": "upcean",
    "globaltradeitemnumber": "gtin",
    "globaltradenumber": "gtin",
}
_READ_COLUMNS = """
    item id name type sku options brand description price costprice retailprice saleprice weight allowpurchases
    isvisible inventorytracking currentstock categories pagetitle metadescription producturl upcean gtin
    variantimageurl youtubeid imageurlimport internalimageurlexport imagedescription
"""
_READ = frozenset(_READ_COLUMNS.split())
_NUMBERED_IMAGE = re.compile(r"productimage(url|file|description)([0-9]+)")
_OLD_OPTION = re.compile(r"\[[A-Z]+\](.+?)=(.*?)(?=,\s*\[[A-Z]+\]|$)", re.DOTALL)
_NEW_OPTION = re.compile(r"Type=[^|]*\|Name=([^|]*)\|Value=(.*?)(?=[,;]?\s*Type=[^|]*\|Name=|$)", re.DOTALL)
# A swatch has a color or the path of a pattern after its name.
_SWATCH = re.compile(r"\s*(?:\[#.*\]|:#[0-9A-Fa-f|#:]+|:[^:]*\.(?:png|jpe?g|gif|webp))$", re.DOTALL)
_ADJUSTMENT = re.compile(r"\[(ADD|REMOVE|FIXED)\]\s*(-?[0-9.]+)")


def _translate(column: str) -> str:
    return _NEWER.get(column, column)


def _is_recognized(columns: Collection[str]) -> bool:
    is_newer = {"item", "name", "sku"} <= set(columns) and not {
        "options", "inventorytracking", "isvisible", "imageurlimport"
    }.isdisjoint(columns)  # fmt: skip
    return is_newer or {"itemtype", "productname"} <= set(columns)


def _is_read(column: str) -> bool:
    return _translate(column) in _READ or _NUMBERED_IMAGE.fullmatch(column) is not None


def _read(row: SourceRow) -> SourceRow:
    return row.rename(_translate)


def _get_kind(row: SourceRow) -> str:
    return row.get("item").lower()


def _get_links(row: SourceRow) -> RowLinks:
    return RowLinks() if _get_kind(_read(row)) == "product" else RowLinks(parent=PREVIOUS)


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule of the older form: an adjustment of the price or weight of variants with some option values."""

    options: Mapping[str, str]
    row: SourceRow

    def find_adjustment(self, column: str, options: Mapping[str, str]) -> re.Match[str] | None:
        return _ADJUSTMENT.search(self.row.get(column)) if self.options.items() <= options.items() else None


def _convert(rows: Sequence[SourceRow]) -> ConvertedObject:
    product, *others = map(_read, rows)
    url = product.get("producturl").rstrip("/").rpartition("/")[2].removesuffix(".html")
    converted = values.start_object(product.get("name"), url, product.get("id", "sku"))
    variants = [(_parse_options(row), row) for row in others if _get_kind(row) in {"sku", "variant"}]
    rules = [_Rule(_parse_options(row), row) for row in others if _get_kind(row) == "rule"]
    images = _get_images(product)
    if variants and any(options for options, _ in variants):
        _add_variants(converted, product, variants, rules)
    else:
        sku = next((row.get("sku") for _, row in variants if row.get("sku")), "")
        converted.rows.append(_get_variant(product, product, {}, rules, converted) | ({values.SKU: sku} if sku else {}))
    _note_rules(rules, [options for options, _ in variants] or [{}], converted)
    for row in others:
        if _get_kind(row) == "image":
            images[row.get("imageurlimport", "internalimageurlexport")] = row.get("imagedescription")
        elif _get_kind(row) not in {"sku", "variant", "rule"}:
            values.note_value(converted, row.get("item") or "row", row.get("name", "youtubeid", "sku"))
    images.pop("", None)
    converted.rows[0] = _get_product_cells(product, converted) | converted.rows[0]
    values.set_images(converted, list(images), list(images.values()))
    return converted


def _parse_options(row: SourceRow) -> dict[str, str]:
    """Return the option values of a row. The older form has them in place of the product's name."""
    text = row.get("options")
    pairs = _NEW_OPTION.findall(text) if text else _OLD_OPTION.findall(row.get("name"))
    return {name.strip(): _SWATCH.sub("", value.strip()) for name, value in pairs}


def _get_images(product: SourceRow) -> dict[str, str]:
    """Return the descriptions of the images in numbered columns, keyed by URL, or by path if there is no URL."""
    numbered: dict[str, dict[str, str]] = {}
    for column, cell in product.cells.items():
        if match := _NUMBERED_IMAGE.fullmatch(column):
            numbered.setdefault(match[2], {})[match[1]] = cell.strip()
    return {image.get("url") or image.get("file", ""): image.get("description", "") for image in numbered.values()}


def _get_product_cells(product: SourceRow, converted: ConvertedObject) -> dict[str, str]:
    cells = values.copy_cells(
        product,
        {
            "name": values.TITLE,
            "description": values.BODY,
            "brand": values.VENDOR,
            "pagetitle": values.SEO_TITLE,
            "metadescription": values.SEO_DESCRIPTION,
        },
    )
    if product.get("isvisible"):
        cells[values.PUBLISHED] = product.get("isvisible")
    if find_flag(product.get("allowpurchases")) is False:
        values.note_value(converted, "Allow Purchases?", product.get("allowpurchases"))
    if product.has("categories"):
        separator = ">" if ">" in product.get("categories") else "/"
        paths = [values.split_list(path, separator) for path in values.split_list(product.get("categories"), ";")]
        cells[values.COLLECTION] = values.format_collections(paths, converted)
    return cells


def _add_variants(
    converted: ConvertedObject,
    product: SourceRow,
    variants: Sequence[tuple[Mapping[str, str], SourceRow]],
    rules: Sequence[_Rule],
) -> None:
    names = list(dict.fromkeys(name for options, _ in variants for name in options))
    values.check_options(names)
    for options, row in variants:
        cells = values.get_option_cells([] if converted.rows else names, [options.get(name) or "–" for name in names])
        cells |= _get_variant(row, product, options, rules, converted)
        if urls := values.keep_urls(values.split_images(row.get("variantimageurl")), converted):
            cells[values.VARIANT_IMAGE] = urls[0]
        converted.rows.append(cells)


def _get_variant(
    row: SourceRow,
    product: SourceRow,
    options: Mapping[str, str],
    rules: Sequence[_Rule],
    converted: ConvertedObject,
) -> dict[str, str]:
    cells = values.copy_cells(row, {"sku": values.SKU})
    if row.has("upcean") or row.has("gtin"):
        cells[values.BARCODE] = row.get("upcean", "gtin")
    prices = [_get_own_number(name, row, product) for name in ("price", "saleprice", "retailprice", "costprice")]
    regular, sale, retail, cost = prices
    regular = _adjust(regular, "price", options, rules)
    if sale and not values.is_zero(sale):
        sale = _adjust(sale, "price", options, rules)
    cells |= values.get_prices(regular, sale, converted, retail="" if _is_at_most(retail, sale or regular) else retail)
    if cost:
        cells[values.COST] = cost
    cells |= values.get_weight(_adjust(_get_own_number("weight", row, product), "weight", options, rules))
    cells[values.SHIPPED] = values.NO if product.get("type").lower() in {"d", "digital"} else values.YES
    return cells | _get_stock(row, product)


def _get_own_number(column: str, row: SourceRow, product: SourceRow) -> str:
    """Return a number of a variant, or else of its product. A zero means that there is no number."""
    numbers = (values.normalize_number(source.get(column)) for source in (row, product))
    return next((number for number in numbers if not values.is_zero(number)), product.get(column))


def _is_at_most(number: str, limit: str) -> bool:
    try:
        return Decimal(number or 0) <= Decimal(limit or 0)
    except ArithmeticError:
        return False


def _adjust(number: str, column: str, options: Mapping[str, str], rules: Sequence[_Rule]) -> str:
    """Return a number with the adjustments of the rules for these options."""
    for rule in rules:
        match = rule.find_adjustment(column, options)
        if match is None:
            continue
        try:
            amount = Decimal(match[2])
            if match[1] != "FIXED":
                amount = Decimal(number or 0) + (amount if match[1] == "ADD" else -amount)
        except ArithmeticError:
            continue
        number = format_plain(amount)
    return number


def _note_rules(rules: Sequence[_Rule], variants: Sequence[Mapping[str, str]], converted: ConvertedObject) -> None:
    """Add a note for each rule that changes no variant of the file."""
    for rule in rules:
        is_used = any(rule.find_adjustment(column, options) for options in variants for column in ("price", "weight"))
        if not is_used:
            values_of_rule = (rule.row.get(column) for column in ("price", "weight"))
            text = " ".join(filter(None, values_of_rule)) or rule.row.get("item")
            converted.notes.append(_UNUSED_RULE(rule=rule.row.get("name", "options"), value=text))


def _get_stock(row: SourceRow, product: SourceRow) -> dict[str, str]:
    if not product.has("inventorytracking"):
        return {}
    tracking = product.get("inventorytracking").lower()
    is_tracked = tracking in ({"by product", "product"} if row is product else {"by option", "by sku", "variant"})
    return values.get_stock(row.get("currentstock"), is_tracked=is_tracked)


# The columns that are converted to each of our columns.
_SOURCES = {
    HANDLE: ("producturl",),
    values.TITLE: ("name",),
    values.BODY: ("description",),
    values.VENDOR: ("brand",),
    values.PUBLISHED: ("isvisible",),
    values.COLLECTION: ("categories",),
    values.SKU: ("sku",),
    values.BARCODE: ("upcean", "gtin"),
    values.PRICE: ("price", "saleprice"),
    values.COMPARE_AT: ("price", "retailprice"),
    values.COST: ("costprice",),
    values.SHIPPED: ("type",),
    values.WEIGHT: ("weight",),
    QUANTITY: ("currentstock",),
    values.IMAGE: ("imageurlimport", "internalimageurlexport"),
    values.IMAGE_ALT: ("imagedescription",),
    values.VARIANT_IMAGE: ("variantimageurl",),
    values.SEO_TITLE: ("pagetitle",),
    values.SEO_DESCRIPTION: ("metadescription",),
}
BIGCOMMERCE = TableFormat(
    is_recognized=_is_recognized,
    is_read=_is_read,
    sources=_SOURCES,
    get_links=_get_links,
    convert=_convert,
    translate=_translate,
)
