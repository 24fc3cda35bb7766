"""The product table that WooCommerce exports, with English or German column names.

A variable product is one row, and each of its variations another row with the parent's id (``id:12``) or SKU.
"""

import re
from collections.abc import Collection, Sequence

from apps.core.i18n.messages import define_message
from apps.imports_exports.domain.flags import find_flag
from apps.imports_exports.domain.foreign_tables.formats import ConvertedObject, RowLinks, SourceRow, TableFormat
from apps.imports_exports.resources.products.foreign_tables import values
from apps.imports_exports.resources.products.table import QUANTITY

_SHARED_STOCK = define_message(
    "foreign_tables.shared_stock",
    "The stock {quantity}, which all variants share, was not imported. Set the stock of each",
)
_DISABLED = define_message("foreign_tables.disabled_variant", "The variation {name} is disabled and was not imported")
_ANY_VALUE = define_message(
    "foreign_tables.any_value",
    "A variation fits any {name}. Its value is “Any”. Create a variant for each value instead",
)
# The German names of columns, normalized.
_GERMAN = {
    "typ": "type",
    "artikelnummer": "sku",
    "gtinupceanoderisbn": "gtinupceanorisbn",
    "veröffentlicht": "published",
    "sichtbarkeitimkatalog": "visibilityincatalog",
    "kurzbeschreibung": "shortdescription",
    "beschreibung": "description",
    "datumandemangebotspreisbeginnt": "datesalepricestarts",
    "datumandemangebotspreisendet": "datesalepriceends",
    "steuerstatus": "taxstatus",
    "steuerklasse": "taxclass",
    "vorrätig": "instock",
    "lager": "stock",
    "bestand": "stock",
    "lieferrückständeerlaubt": "backordersallowed",
    "lieferrückstandeerlaubt": "backordersallowed",
    "angebotspreis": "saleprice",
    "regulärerpreis": "regularprice",
    "kategorien": "categories",
    "schlagwörter": "tags",
    "bilder": "images",
    "übergeordnetesprodukt": "parent",
    "übergeordnet": "parent",
    "marken": "brands",
    "externeurl": "externalurl",
    "gruppierteprodukte": "groupedproducts",
}
_READ_COLUMNS = """
    id type sku name published visibilityincatalog shortdescription description datesalepricestarts
    datesalepriceends taxstatus instock stock backordersallowed saleprice regularprice categories tags images parent
    brands gtinupceanorisbn externalurl groupedproducts
"""
_READ = frozenset(_READ_COLUMNS.split())
_WEIGHT = re.compile(r"(?:weight|gewicht)(kg|g|lbs?|oz)")
_ATTRIBUTE = re.compile(r"(?:attribute|attribut)([0-9]+)(name|values?|werte)")


def _translate(column: str) -> str:
    return _GERMAN.get(column, column)


def _is_recognized(columns: Collection[str]) -> bool:
    translated = {_translate(column) for column in columns}
    return {"type", "name", "regularprice"} <= translated and bool({"parent", "published", "instock"} & translated)


def _is_read(column: str) -> bool:
    return _translate(column) in _READ or bool(_WEIGHT.fullmatch(column) or _ATTRIBUTE.fullmatch(column))


def _read(row: SourceRow) -> SourceRow:
    return row.rename(_translate)


def _get_links(row: SourceRow) -> RowLinks:
    row = _read(row)
    names = [f"id:{row.get('id')}"] if row.get("id") else []
    if row.get("sku"):
        names.append(row.get("sku"))
    if "variation" not in row.get("type").lower():
        return RowLinks(names)
    return RowLinks(parent=row.get("parent") or f"the parent of {row.get('sku', 'name', 'id')}")


def _convert(rows: Sequence[SourceRow]) -> ConvertedObject:
    product, variations = _read(rows[0]), [_read(row) for row in rows[1:]]
    converted = values.start_object(product.get("name"), "", product.get("id", "sku"))
    first = {
        values.TITLE: product.get("name"),
        **_get_texts(product, converted),
        **_get_visibility(product),
    }
    kinds = {kind.strip() for kind in product.get("type").lower().split(",")}
    for kind in sorted(kinds & {"grouped", "external"}):
        converted.notes.append(values.NO_SUCH_TYPE(type=kind))
    values.note_value(converted, "External URL", product.get("externalurl"))
    values.note_value(converted, "Grouped products", product.get("groupedproducts"))
    images = values.split_images(product.get("images"))
    if "variable" in kinds or variations:
        images += _add_variations(converted, product, variations)
    else:
        for name, value in _get_attributes(product).items():
            values.note_value(converted, name, value)
        converted.rows.append(_get_variant(product, product, converted))
    converted.rows = converted.rows or [{}]
    converted.rows[0] = first | converted.rows[0]
    values.set_images(converted, images)
    return converted


def _get_texts(product: SourceRow, converted: ConvertedObject) -> dict[str, str]:
    cells = values.copy_cells(product, {"tags": values.TAGS, "brands": values.VENDOR})
    if product.has("description") or product.has("shortdescription"):
        texts = (product.get("shortdescription"), product.get("description"))
        cells[values.BODY] = "\n".join(_unescape(text) for text in dict.fromkeys(texts) if text)
    if product.has("categories"):
        paths = [values.split_list(path, ">") for path in values.split_list(product.get("categories"))]
        cells[values.COLLECTION] = values.format_collections(paths, converted)
    return cells


def _unescape(text: str) -> str:
    r"""Return a text with line breaks, which the export writes as ``\n``."""
    return re.sub(r"\\\\n|\\n", lambda match: "\\n" if match[0].startswith("\\\\") else "\n", text)


def _get_visibility(product: SourceRow) -> dict[str, str]:
    """Return whether a product is published. The export writes 0 for a private product, and -1 for a draft."""
    published = product.get("published")
    if not published:
        return {}
    if published.startswith("-"):
        return {values.PUBLISHED: values.NO, values.STATUS: "draft"}
    is_hidden = product.get("visibilityincatalog") == "hidden"
    return {values.PUBLISHED: published, values.STATUS: values.UNLISTED if is_hidden else "active"}


def _get_attributes(row: SourceRow) -> dict[str, str]:
    """Return the values of the attributes of a row, keyed by name, in the order of the columns."""
    numbered: dict[str, dict[str, str]] = {}
    for column, cell in row.cells.items():
        if match := _ATTRIBUTE.fullmatch(column):
            numbered.setdefault(match[1], {})["name" if match[2] == "name" else "value"] = cell.strip()
    return {cells["name"]: cells.get("value", "") for cells in numbered.values() if cells.get("name")}


def _add_variations(converted: ConvertedObject, product: SourceRow, variations: Sequence[SourceRow]) -> list[str]:
    """Add a row for each variation, and return the images of the variations."""
    own = _get_attributes(product)
    used = dict.fromkeys(name for row in variations for name in _get_attributes(row))
    names = [name for name in own if name in used] + [name for name in used if name not in own]
    values.check_options(names)
    for name, value in own.items():
        if name not in used:
            values.note_value(converted, name, value)
    images = []
    for row in variations:
        if row.get("published") and not find_flag(row.get("published")):
            converted.notes.append(_DISABLED(name=row.get("sku", "name", "id")))
            continue
        attributes = _get_attributes(row)
        converted.notes += [_ANY_VALUE(name=name) for name in names if not attributes.get(name)]
        cells = values.get_option_cells(
            [] if converted.rows else names, [attributes.get(name) or "Any" for name in names]
        )
        cells |= _get_variant(row, product, converted)
        if urls := values.keep_urls(values.split_images(row.get("images")), converted):
            cells[values.VARIANT_IMAGE] = urls[0]
            images += urls
        converted.rows.append(cells)
    if variations and product.get("stock"):
        converted.notes.append(_SHARED_STOCK(quantity=product.get("stock")))
    return images


def _get_variant(row: SourceRow, product: SourceRow, converted: ConvertedObject) -> dict[str, str]:
    cells = values.copy_cells(row, {"sku": values.SKU, "gtinupceanorisbn": values.BARCODE})
    cells |= values.get_prices(
        row.get("regularprice"),
        row.get("saleprice"),
        converted,
        starts=row.get("datesalepricestarts"),
        ends=row.get("datesalepriceends"),
    )
    for column in row.cells:
        if match := _WEIGHT.fullmatch(column):
            cells |= values.get_weight(row.get(column) or product.get(column), match[1])
    tax_status = row.get("taxstatus") or product.get("taxstatus")
    if tax_status:
        cells[values.TAXABLE] = values.YES if tax_status == "taxable" else values.NO
    kinds = f"{row.get('type')},{product.get('type')}".lower()
    cells[values.SHIPPED] = values.NO if "virtual" in kinds or "downloadable" in kinds else values.YES
    return cells | _get_stock(row)


def _get_stock(row: SourceRow) -> dict[str, str]:
    """Return the stock. A product that is sold out but not counted has a stock of 0."""
    if not row.has("stock") and not row.has("instock"):
        return {}
    backorders = row.get("backordersallowed").lower()
    may_oversell = None if not backorders else backorders == "notify" or bool(find_flag(backorders))
    quantity, state = row.get("stock"), row.get("instock").lower()
    if quantity and quantity.lower() != "parent":
        return values.get_stock(quantity, is_tracked=True, may_oversell=may_oversell)
    if find_flag(state) is False:
        return values.get_stock("0", is_tracked=True, may_oversell=may_oversell)
    return values.get_stock("", is_tracked=False, may_oversell=True if state == "backorder" else may_oversell)


# The columns that are converted to each of our columns.
_SOURCES = {
    values.TITLE: ("name",),
    values.BODY: ("shortdescription", "description"),
    values.VENDOR: ("brands",),
    values.TAGS: ("tags",),
    values.PUBLISHED: ("published",),
    values.STATUS: ("published",),
    values.COLLECTION: ("categories",),
    values.SKU: ("sku",),
    values.BARCODE: ("gtinupceanorisbn",),
    values.PRICE: ("regularprice", "saleprice"),
    values.COMPARE_AT: ("regularprice",),
    values.TAXABLE: ("taxstatus",),
    values.SHIPPED: ("type",),
    values.WEIGHT: ("weightkg", "weightg", "weightlb", "weightlbs", "weightoz"),
    QUANTITY: ("stock", "instock"),
    values.IMAGE: ("images",),
    values.VARIANT_IMAGE: ("images",),
}
WOOCOMMERCE = TableFormat(
    is_recognized=_is_recognized,
    is_read=_is_read,
    sources=_SOURCES,
    get_links=_get_links,
    convert=_convert,
    translate=_translate,
)
