"""The product table that Magento 2 exports.

A configurable product lists the SKUs of its variants. Each variant is also a row, a simple product with its own price.
Rows with a store view only translate other rows.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from apps.core.i18n.messages import define_message
from apps.imports_exports.domain.flags import find_flag
from apps.imports_exports.domain.foreign_tables.formats import ConvertedObject, RowLinks, SourceRow, TableFormat
from apps.imports_exports.resources.products.foreign_tables import values
from apps.imports_exports.resources.products.table import HANDLE, QUANTITY

_TRANSLATION = define_message(
    "foreign_tables.translation", "The texts of the store view {view} were not imported. Texts have one language"
)
_MISSING_ROW = define_message(
    "foreign_tables.missing_row",
    "The variation {sku} has no row in the file. It has the price of the product and no stock",
)
_READ_COLUMNS = """
    sku storeviewcode attributesetcode producttype categories name description shortdescription weight productonline
    taxclassname visibility price specialprice specialpricefromdate specialpricetodate specialfromdate specialtodate
    urlkey metatitle metadescription baseimage baseimagelabel additionalimages additionalimagelabels qty managestock
    useconfigmanagestock allowbackorders useconfigbackorders cost countryofmanufacture additionalattributes
    configurablevariations configurablevariationlabels msrpprice
"""
_READ = frozenset(_READ_COLUMNS.split())
_PAIR = re.compile(r"(?:^|,)\s*([A-Za-z_][\w ]*)=(.*?)(?=,\s*[A-Za-z_][\w ]*=|$)", re.DOTALL)
_BRANDS = ("manufacturer", "brand")
_NO_IMAGE = "no_selection"
_INVISIBLE = "not visible individually"


def _is_recognized(columns: Collection[str]) -> bool:
    others = {"attributesetcode", "productwebsites", "storeviewcode", "configurablevariations", "productonline"}
    return {"sku", "producttype", "name"} <= set(columns) and not others.isdisjoint(columns)


def _parse_pairs(cell: str) -> dict[str, str]:
    """Parse ``color=Red,size=M``. A value may contain commas."""
    return {name.strip(): value.strip().strip('"') for name, value in _PAIR.findall(cell)}


def _parse_variations(row: SourceRow) -> list[dict[str, str]]:
    return [_parse_pairs(part) for part in row.get("configurablevariations").split("|") if part.strip()]


def _get_links(row: SourceRow) -> RowLinks:
    if row.get("storeviewcode"):
        return RowLinks(parent=row.get("sku"))
    children = [pairs["sku"] for pairs in _parse_variations(row) if pairs.get("sku")]
    return RowLinks([row.get("sku")] if row.get("sku") else [], children=children)


def _convert(rows: Sequence[SourceRow]) -> ConvertedObject:
    product = rows[0]
    converted = values.start_object(product.get("name", "sku"), product.get("urlkey"), product.get("sku"))
    converted.notes += [_TRANSLATION(view=row.get("storeviewcode")) for row in rows if row.get("storeviewcode")]
    children = {row.get("sku"): row for row in rows[1:] if not row.get("storeviewcode")}
    kind = product.get("producttype").lower()
    if kind not in {"simple", "virtual", "downloadable", "configurable"}:
        converted.notes.append(values.NO_SUCH_TYPE(type=kind))
    attributes = _parse_pairs(product.get("additionalattributes"))
    first = _get_product_cells(product, attributes, converted)
    images = _get_images(product)
    variations = _parse_variations(product)
    if variations:
        images += _add_variations(converted, product, variations, children)
    else:
        converted.rows.append(_get_variant(product, product, converted))
        _note_attributes(attributes, (), converted)
    converted.rows[0] = first | converted.rows[0]
    labels = dict(zip(_get_images(product), _get_labels(product), strict=False))
    images = list(dict.fromkeys(images))
    values.set_images(converted, images, [labels.get(image, "") for image in images])
    return converted


def _get_product_cells(product: SourceRow, attributes: Mapping[str, str], converted: ConvertedObject) -> dict[str, str]:
    cells = values.copy_cells(
        product,
        {"name": values.TITLE, "metatitle": values.SEO_TITLE, "metadescription": values.SEO_DESCRIPTION},
    )
    if product.has("description") or product.has("shortdescription"):
        texts = (product.get("shortdescription"), product.get("description"))
        cells[values.BODY] = "\n".join(dict.fromkeys(filter(None, texts)))
    if brand := next((attributes[name] for name in _BRANDS if attributes.get(name)), ""):
        cells[values.VENDOR] = brand
    if product.get("attributesetcode", "") not in {"", "Default"}:
        cells[values.KIND] = product.get("attributesetcode")
    if product.has("categories"):
        # The first part of each path is the root of a store, which is no category for customers.
        paths = [values.split_list(path, "/")[1:] for path in values.split_list(product.get("categories"))]
        cells[values.COLLECTION] = values.format_collections(paths, converted)
    if online := product.get("productonline"):
        is_visible = product.get("visibility").lower() != _INVISIBLE
        cells[values.PUBLISHED] = values.YES if find_flag(online) and is_visible else values.NO
        cells[values.STATUS] = "active" if find_flag(online) else "draft"
    return cells


def _get_images(row: SourceRow) -> list[str]:
    images = [row.get("baseimage"), *values.split_images(row.get("additionalimages"))]
    return [image for image in dict.fromkeys(images) if image and image != _NO_IMAGE]


def _get_labels(row: SourceRow) -> list[str]:
    own = [row.get("baseimagelabel")] if row.get("baseimage") else []
    return own + [label.strip() for label in row.get("additionalimagelabels").split(",")]


def _add_variations(
    converted: ConvertedObject,
    product: SourceRow,
    variations: Sequence[Mapping[str, str]],
    children: Mapping[str, SourceRow],
) -> list[str]:
    """Add a row for each variation, and return the images of the variations."""
    codes = list(dict.fromkeys(code for pairs in variations for code in pairs if code != "sku"))
    labels = _parse_pairs(product.get("configurablevariationlabels"))
    names = [labels.get(code) or code.replace("_", " ").capitalize() for code in codes]
    values.check_options(names)
    images = []
    for pairs in variations:
        row = children.get(pairs.get("sku", ""))
        cells = values.get_option_cells([] if converted.rows else names, [pairs.get(code) or "–" for code in codes])
        if row is None:
            converted.notes.append(_MISSING_ROW(sku=pairs.get("sku", "")))
            row = SourceRow(product.line, {"sku": pairs.get("sku", "")})
        cells |= _get_variant(row, product, converted)
        if urls := values.keep_urls(_get_images(row), converted):
            cells[values.VARIANT_IMAGE] = urls[0]
            images += urls
        _note_attributes(_parse_pairs(row.get("additionalattributes")), codes, converted)
        converted.rows.append(cells)
    _note_attributes(_parse_pairs(product.get("additionalattributes")), codes, converted)
    return images


def _note_attributes(attributes: Mapping[str, str], used: Collection[str], converted: ConvertedObject) -> None:
    for name, value in attributes.items():
        if name not in used and name not in _BRANDS:
            values.note_value(converted, name, value)


def _get_variant(row: SourceRow, product: SourceRow, converted: ConvertedObject) -> dict[str, str]:
    cells = values.copy_cells(row, {"sku": values.SKU})
    cells |= values.get_prices(
        row.get("price") or product.get("price"),
        row.get("specialprice"),
        converted,
        starts=row.get("specialpricefromdate", "specialfromdate"),
        ends=row.get("specialpricetodate", "specialtodate"),
        retail=row.get("msrpprice"),
    )
    cells |= values.get_weight(row.get("weight") or product.get("weight"))
    if cost := row.get("cost"):
        cells[values.COST] = values.normalize_number(cost)
    if tax_class := row.get("taxclassname") or product.get("taxclassname"):
        cells[values.TAXABLE] = values.NO if tax_class.lower() == "none" else values.YES
    cells[values.SHIPPED] = values.NO if row.get("producttype").lower() in {"virtual", "downloadable"} else values.YES
    country = row.get("countryofmanufacture") or product.get("countryofmanufacture")
    if len(country) == 2:
        cells["Variant Country of Origin"] = country
    else:
        values.note_value(converted, "country_of_manufacture", country)
    return cells | _get_stock(row)


def _get_stock(row: SourceRow) -> dict[str, str]:
    if not row.has("qty"):
        return {}
    is_default = find_flag(row.get("useconfigmanagestock")) is not False
    is_tracked = bool(row.get("qty")) and (is_default or find_flag(row.get("managestock")) is not False)
    backorders = row.get("allowbackorders")
    has_own_rule = find_flag(row.get("useconfigbackorders")) is False and bool(backorders)
    may_oversell = backorders not in {"0", "0.0000"} if has_own_rule else None
    return values.get_stock(row.get("qty"), is_tracked=is_tracked, may_oversell=may_oversell)


# The columns that are converted to each of our columns.
_SOURCES = {
    HANDLE: ("urlkey",),
    values.TITLE: ("name",),
    values.BODY: ("shortdescription", "description"),
    values.VENDOR: ("additionalattributes",),
    values.KIND: ("attributesetcode",),
    values.PUBLISHED: ("productonline",),
    values.STATUS: ("productonline",),
    values.COLLECTION: ("categories",),
    values.SKU: ("sku",),
    values.PRICE: ("price", "specialprice"),
    values.COMPARE_AT: ("price", "msrpprice"),
    values.COST: ("cost",),
    values.TAXABLE: ("taxclassname",),
    values.SHIPPED: ("producttype",),
    values.WEIGHT: ("weight",),
    QUANTITY: ("qty",),
    values.IMAGE: ("baseimage", "additionalimages"),
    values.IMAGE_ALT: ("baseimagelabel", "additionalimagelabels"),
    values.VARIANT_IMAGE: ("baseimage",),
    values.SEO_TITLE: ("metatitle",),
    values.SEO_DESCRIPTION: ("metadescription",),
}
MAGENTO = TableFormat(
    is_recognized=_is_recognized,
    is_read=_READ.__contains__,
    sources=_SOURCES,
    get_links=_get_links,
    convert=_convert,
)
