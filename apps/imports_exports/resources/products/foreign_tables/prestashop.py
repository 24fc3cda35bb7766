"""The product tables of PrestaShop: the list of products, the table for its import, and the table of combinations.

The combinations (variants) of a product are usually in a file of their own. They refer to the product by its id, which
Backoffice does not know, or by its reference, which is the SKU of the product that was imported first.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal, InvalidOperation

from apps.catalog.models import Variant
from apps.core.i18n.messages import define_message, define_text
from apps.core.money import format_plain, round_money
from apps.core.tenancy.scope import get_current_shop
from apps.imports_exports.domain.foreign_tables.formats import (
    ConvertedObject,
    RowLinks,
    SourceRow,
    TableFormat,
    Unconvertible,
)
from apps.imports_exports.resources.products.foreign_tables import values
from apps.imports_exports.resources.products.table import HANDLE, QUANTITY

_NO_PRODUCT = define_message(
    "foreign_tables.no_product",
    "there is no product with the SKU {reference}. Import the file of products first",
)
_SEVERAL_PRODUCTS = define_message("foreign_tables.several_products", "several products have the SKU {reference}")
_UNEQUAL = define_message("foreign_tables.unequal_attributes", "has {names} attributes, but {values} values")
_PRICE_KEPT = define_text(
    "foreign_tables.price_kept",
    "The product already has variants, so the impacts on price and weight were not imported for them",
)
_WITHOUT_TAX = define_text(
    "foreign_tables.without_tax", "The file only has prices without tax, but the prices of this shop include tax"
)
_WITH_TAX = define_text(
    "foreign_tables.with_tax", "The file only has prices with tax, but the prices of this shop do not include tax"
)
# Our names of columns, keyed by the normalized names in the file.
_NAMES = {
    "productid": "id",
    "active01": "active",
    "activated": "active",
    "status": "active",
    "categoriesxyz": "categories",
    "category": "categories",
    "pricetaxexcluded": "price",
    "pricetaxexcl": "price",
    "pricetaxincluded": "pricewithtax",
    "pricetaxincl": "pricewithtax",
    "costprice": "wholesaleprice",
    "discountfromyyyymmdd": "discountfrom",
    "discounttoyyyymmdd": "discountto",
    "brand": "manufacturer",
    "shortdescription": "summary",
    "tagsxyz": "tags",
    "friendlyurl": "urlrewritten",
    "linkrewrite": "urlrewritten",
    "imageurlsxyz": "images",
    "imageurls": "images",
    "imageurl": "images",
    "image": "images",
    "imagealttextsxyz": "imagealttexts",
    "featurenamevalueposition": "feature",
    "attributenametypeposition": "attribute",
    "valuevalueposition": "value",
}
_READ_COLUMNS = """
    id active name categories price pricewithtax wholesaleprice discountamount discountpercent discountfrom
    discountto reference manufacturer ean13 upc weight quantity visibility summary description tags metatitle
    metadescription urlrewritten images imagealttexts feature outofstockaction virtualproduct attribute value
    productreference impactonprice impactonweight
"""
_READ = frozenset(_READ_COLUMNS.split())
_SIGNS_COLUMNS = """
    active01 categoriesxyz pricetaxexcluded pricetaxexcl pricetaxincluded pricetaxincl imageurlsxyz urlrewritten
    taxrulesid wholesaleprice tagsxyz onsale01 reference
"""
_SIGNS = frozenset(_SIGNS_COLUMNS.split())
_MIN_SIGNS = 2
_NO = ("0", "false", "no")


def _translate(column: str) -> str:
    return _NAMES.get(column, column)


def _is_recognized(columns: Collection[str]) -> bool:
    names = set(columns)
    if {"attributenametypeposition", "valuevalueposition"} <= names:
        return True
    has_product = "name" in names and bool(names & {"productid", "id"})
    return has_product and len(names & _SIGNS) >= _MIN_SIGNS and "regularprice" not in names


# Larger numbers are no prices or weights.
_MAX_DIGITS = 15
_WHOLE = Decimal(1)


def _is_read(column: str) -> bool:
    return _translate(column) in _READ


def _read(row: SourceRow) -> SourceRow:
    return row.rename(_translate)


def _get_links(row: SourceRow) -> RowLinks:
    """Return the product of a row. Rows with the same product follow the first of them."""
    row = _read(row)
    product = f"id:{row.get('id')}" if row.get("id") else row.get("productreference")
    if not product and row.get("attribute") and row.get("reference"):
        owners = {variant.product_id for variant in _find_variants([row.get("reference")])}
        product = f"own:{owners.pop()}" if len(owners) == 1 else ""
    if not product:
        return RowLinks()
    return RowLinks([product], parent=product, may_be_alone=True)


def _convert(rows: Sequence[SourceRow]) -> ConvertedObject:
    read_rows = [_read(row) for row in rows]
    product = next((row for row in read_rows if row.get("name")), None)
    combinations = [row for row in read_rows if row.get("attribute")]
    if product is None:
        return _convert_combinations(combinations)
    converted = values.start_object(product.get("name"), product.get("urlrewritten"), product.get("id"))
    images = values.split_images(product.get("images"))
    own = _get_variant(product, converted)
    if combinations:
        is_reduced = own.get(values.COMPARE_AT) and not _parse(product.get("discountamount"))
        percent = _parse(product.get("discountpercent")) if is_reduced else None
        images += _add_combinations(converted, combinations, own, share=1 - (percent or Decimal()) / 100)
    else:
        converted.rows.append(own)
    converted.rows[0] = _get_product_cells(product, converted) | converted.rows[0]
    texts = [text.strip() for text in product.get("imagealttexts").split(",")] if product.has("imagealttexts") else []
    values.set_images(converted, images, texts)
    return converted


def _convert_combinations(combinations: Sequence[SourceRow]) -> ConvertedObject:
    """Convert combinations of a product that is in the shop, but not in the file."""
    reference = next((row.get("productreference") for row in combinations if row.get("productreference")), "")
    own_references = [row.get("reference") for row in combinations if row.get("reference")]
    variants = _find_variants([reference] if reference else []) or _find_variants(own_references)
    handles = {variant.product.handle for variant in variants}
    if len(handles) != 1:
        shown = reference or ", ".join(own_references)[:100] or "–"
        raise Unconvertible((_SEVERAL_PRODUCTS if handles else _NO_PRODUCT)(reference=shown))
    converted = ConvertedObject(handles.pop())
    own: dict[str, str] = {}
    current = Variant.objects.filter(product_id=variants[0].product_id)
    if len(current) == 1 and current[0].is_default:
        own[values.PRICE] = format_plain(current[0].price)
        own[values.WEIGHT] = format_plain(current[0].weight)
        own[values.WEIGHT_UNIT] = current[0].weight_unit
    elif any(row.get("impactonprice", "impactonweight") for row in combinations):
        converted.notes.append(_PRICE_KEPT)
    values.set_images(converted, _add_combinations(converted, combinations, own))
    return converted


def _find_variants(references: Sequence[str]) -> list[Variant]:
    rows = Variant.objects.filter(inventory_item__sku__in=references).select_related("product")
    return list(rows) if references else []


def _get_product_cells(product: SourceRow, converted: ConvertedObject) -> dict[str, str]:
    cells = values.copy_cells(
        product,
        {
            "name": values.TITLE,
            "manufacturer": values.VENDOR,
            "tags": values.TAGS,
            "metatitle": values.SEO_TITLE,
            "metadescription": values.SEO_DESCRIPTION,
        },
    )
    if product.has("description") or product.has("summary"):
        texts = (product.get("summary"), product.get("description"))
        cells[values.BODY] = "\n".join(dict.fromkeys(filter(None, texts)))
    if product.has("categories"):
        # The root of the catalog is no category for customers.
        paths = [re.split(r"[>/]", path) for path in values.split_list(product.get("categories"))]
        paths = [path for path in paths if [name.strip().lower() for name in path] not in (["home"], ["root"])]
        cells[values.COLLECTION] = values.format_collections(paths, converted)
    if active := product.get("active"):
        is_active = active.lower() not in {*_NO, "disabled", "inactive"}
        cells[values.PUBLISHED] = values.YES if is_active else values.NO
        is_hidden = product.get("visibility").lower() == "none"
        cells[values.STATUS] = (values.UNLISTED if is_hidden else "active") if is_active else "draft"
    values.note_value(converted, "Feature", product.get("feature"))
    return cells


def _get_variant(product: SourceRow, converted: ConvertedObject) -> dict[str, str]:
    """Return the columns of a product without combinations, which are also the defaults of its combinations."""
    cells = values.copy_cells(product, {"reference": values.SKU})
    cells |= _get_barcode(product)
    regular = _get_regular_price(product, converted)
    cells |= values.get_prices(
        regular,
        _get_reduced_price(regular, product),
        converted,
        starts=product.get("discountfrom"),
        ends=product.get("discountto"),
    )
    if cost := product.get("wholesaleprice"):
        cells[values.COST] = values.normalize_number(cost)
    if not values.is_zero(product.get("weight")):
        cells |= values.get_weight(product.get("weight"))
    if product.has("virtualproduct"):
        cells[values.SHIPPED] = values.YES if product.get("virtualproduct").lower() in {"", *_NO} else values.NO
    return cells | _get_stock(product, product)


def _get_barcode(row: SourceRow) -> dict[str, str]:
    return {values.BARCODE: row.get("ean13", "upc")} if row.has("ean13") or row.has("upc") else {}


def _get_regular_price(product: SourceRow, converted: ConvertedObject) -> str:
    """Return the price with or without tax, like the shop's prices. Add a note if the file only has the other."""
    includes_tax = get_current_shop().taxes_included
    wanted, other = ("pricewithtax", "price") if includes_tax else ("price", "pricewithtax")
    if product.get(wanted) or not product.get(other):
        return values.normalize_number(product.get(wanted))
    converted.notes.append(_WITHOUT_TAX if includes_tax else _WITH_TAX)
    return values.normalize_number(product.get(other))


def _get_reduced_price(regular: str, product: SourceRow) -> str:
    amount, percent = _parse(product.get("discountamount")), _parse(product.get("discountpercent"))
    price = _parse(regular)
    if price is None or not (amount or percent):
        return ""
    reduced = price - amount if amount else price * (100 - (percent or Decimal())) / 100
    return format_plain(round_money(reduced, get_current_shop().currency))


def _parse(cell: str) -> Decimal | None:
    try:
        number = Decimal(values.normalize_number(cell))
    except InvalidOperation:
        return None
    return number if number.is_finite() and number.adjusted() < _MAX_DIGITS else None


def _add_combinations(
    converted: ConvertedObject, combinations: Sequence[SourceRow], own: Mapping[str, str], *, share: Decimal = _WHOLE
) -> list[str]:
    """Add a row for each combination, and return the images of the combinations.

    ``share`` is the part of an impact on the price that remains after the product's discount.
    """
    pairs = [_get_attributes(row) for row in combinations]
    names = list(dict.fromkeys(name for attributes in pairs for name in attributes))
    values.check_options(names)
    images = []
    for row, attributes in zip(combinations, pairs, strict=True):
        cells = values.get_option_cells(
            [] if converted.rows else names, [attributes.get(name) or "–" for name in names]
        )
        inherited = {name: value for name, value in own.items() if name not in {values.SKU, values.BARCODE}}
        cells |= inherited | values.copy_cells(row, {"reference": values.SKU}) | _get_barcode(row)
        for column, name in (
            ("impactonprice", values.PRICE),
            ("impactonprice", values.COMPARE_AT),
            ("impactonweight", values.WEIGHT),
        ):
            impact, number = _parse(row.get(column)), _parse(own.get(name, ""))
            if impact and number is not None:
                changed = number + (impact * share if name == values.PRICE else impact)
                is_weight = name == values.WEIGHT
                cells[name] = format_plain(changed if is_weight else round_money(changed, get_current_shop().currency))
        if cost := row.get("wholesaleprice"):
            cells[values.COST] = values.normalize_number(cost)
        cells |= _get_stock(row, row)
        if urls := values.keep_urls(values.split_images(row.get("images")) if row.get("attribute") else [], converted):
            cells[values.VARIANT_IMAGE] = urls[0]
            images += urls
        converted.rows.append(cells)
    return images


def _get_attributes(row: SourceRow) -> dict[str, str]:
    """Return the values of a combination, keyed by attribute: ``Color:color:0, Size:select:1`` and ``Blue:0, M:1``."""
    names = [part.partition(":")[0].strip() for part in values.split_list(row.get("attribute"))]
    found = [re.sub(r":\d+$", "", part).strip() for part in values.split_list(row.get("value"))]
    if len(names) != len(found):
        raise Unconvertible(_UNEQUAL(names=len(names), values=len(found)))
    return dict(zip(names, found, strict=True))


def _get_stock(row: SourceRow, product: SourceRow) -> dict[str, str]:
    if not row.get("quantity"):
        return {}
    rule = {"0": False, "1": True}.get(product.get("outofstockaction"))
    return values.get_stock(row.get("quantity"), is_tracked=True, may_oversell=rule)


# The columns that are converted to each of our columns.
_SOURCES = {
    HANDLE: ("urlrewritten",),
    values.TITLE: ("name",),
    values.BODY: ("summary", "description"),
    values.VENDOR: ("manufacturer",),
    values.TAGS: ("tags",),
    values.PUBLISHED: ("active",),
    values.STATUS: ("active",),
    values.COLLECTION: ("categories",),
    values.SKU: ("reference",),
    values.BARCODE: ("ean13", "upc"),
    values.PRICE: ("price", "pricewithtax", "impactonprice"),
    values.COMPARE_AT: ("price", "pricewithtax"),
    values.COST: ("wholesaleprice",),
    values.SHIPPED: ("virtualproduct",),
    values.WEIGHT: ("weight", "impactonweight"),
    QUANTITY: ("quantity",),
    values.IMAGE: ("images",),
    values.IMAGE_ALT: ("imagealttexts",),
    values.VARIANT_IMAGE: ("images",),
    values.SEO_TITLE: ("metatitle",),
    values.SEO_DESCRIPTION: ("metadescription",),
}
PRESTASHOP = TableFormat(
    is_recognized=_is_recognized,
    is_read=_is_read,
    sources=_SOURCES,
    get_links=_get_links,
    convert=_convert,
    translate=_translate,
)
