"""Convert the cells of other systems' product tables: lists, prices, weights, dates, images and categories."""

import re
from collections.abc import Sequence
from datetime import date, datetime

from django.utils import timezone

from apps.core.handles import build_handle
from apps.core.i18n.messages import Message, define_message
from apps.imports_exports.domain.foreign_tables.formats import ConvertedObject, SourceRow, Unconvertible
from apps.imports_exports.resources.cells import format_list_cell
from apps.imports_exports.resources.products.table import OPTION_NAMES, OPTION_VALUES, POLICY, QUANTITY, TRACKER

_NO_URL = define_message(
    "foreign_tables.no_url",
    "The image {src} was not imported: it is not a complete URL. Put the address of your old shop before it",
)
_LAST_OF_PATH = define_message("foreign_tables.last_of_path", "The category {path} became the collection {title}")
_NUMBERED_CATEGORY = define_message(
    "foreign_tables.numbered_category",
    "The category number {number} was not imported: the file does not contain its name",
)
_SALE_OVER = define_message(
    "foreign_tables.sale_over", "The sale price {price} was not imported: the sale ended on {day}"
)
_SALE_AHEAD = define_message(
    "foreign_tables.sale_ahead", "The sale price {price} was not imported: the sale starts on {day}"
)
_TOO_MANY_OPTIONS = define_message(
    "foreign_tables.too_many_options", "has {count} options ({names}), but a product can have at most 3"
)
NOT_IMPORTED = define_message("foreign_tables.not_imported", "{name} was not imported: {value}")
NO_SUCH_TYPE = define_message(
    "foreign_tables.no_such_type",
    "Products of the type {type} are not supported: it was imported as an ordinary product",
)
_MAX_QUOTED = 100
_DECIMAL_COMMA = re.compile(r"-?(?:\d+|\d{1,3}(?:\.\d{3})+),(?:\d{1,2}|\d{4,})", re.ASCII)
_URL = re.compile(r"https?://", re.IGNORECASE)
_DAY_FORMATS = ("%Y-%m-%d", "%m/%d/%Y", "%m/%d/%y", "%d.%m.%Y")
_WEIGHT_UNITS = {"kg": "kg", "g": "g", "lb": "lb", "lbs": "lb", "oz": "oz"}

# Columns of our table.
TITLE, BODY, VENDOR, KIND, TAGS = "Title", "Body (HTML)", "Vendor", "Type", "Tags"
PUBLISHED, STATUS, COLLECTION = "Published", "Status", "Collection"
SKU, BARCODE, PRICE, COMPARE_AT = "Variant SKU", "Variant Barcode", "Variant Price", "Variant Compare At Price"
COST, TAXABLE, SHIPPED = "Cost per item", "Variant Taxable", "Variant Requires Shipping"
WEIGHT, WEIGHT_UNIT = "Variant Weight", "Variant Weight Unit"
IMAGE, IMAGE_ALT, VARIANT_IMAGE = "Image Src", "Image Alt Text", "Variant Image"
SEO_TITLE, SEO_DESCRIPTION = "SEO Title", "SEO Description"
YES, NO = "true", "false"
# The status of products that customers only find by their address.
UNLISTED = "unlisted"


def start_object(name: str, handle: str, suffix: str) -> ConvertedObject:
    """Return an object for a product, with the handle in the file, or a handle derived from the name."""
    return ConvertedObject(
        handle or build_handle(name) or f"product-{build_handle(suffix)}", suffix=build_handle(suffix)
    )


def split_list(cell: str, separator: str = ",") -> list[str]:
    r"""Split a list, and strip the values. A backslash escapes a separator: ``\,``."""
    pieces = re.split(rf"(?<!\\){re.escape(separator)}", cell)
    return [value for piece in pieces if (value := piece.replace(f"\\{separator}", separator).strip())]


def split_images(cell: str) -> list[str]:
    """Split a list of images separated by commas or ``|``. A comma may also be part of a URL."""
    pattern = r"\s*[,|;]\s*(?=https?://)|\s*\|\s*" if _URL.search(cell) else r"[,|]"
    return [value for piece in re.split(pattern, cell) if (value := piece.strip(" ,|;\n"))]


def keep_urls(images: Sequence[str], converted: ConvertedObject) -> list[str]:
    """Return the images that are complete URLs, and add a note for each other image."""
    converted.notes += [_NO_URL(src=image[:_MAX_QUOTED]) for image in images if not _URL.match(image)]
    return [image for image in dict.fromkeys(images) if _URL.match(image)]


def set_images(converted: ConvertedObject, images: Sequence[str], alternatives: Sequence[str] = ()) -> None:
    """Set the images of a product, one for each row. Rows are added if there are more images than variants."""
    texts = dict(zip(images, alternatives, strict=False))
    for index, image in enumerate(keep_urls(images, converted)):
        if index == len(converted.rows):
            converted.rows.append({})
        converted.rows[index] |= {IMAGE: image}
        if alternatives:
            converted.rows[index] |= {IMAGE_ALT: texts.get(image, "")}


def format_collections(paths: Sequence[Sequence[str]], converted: ConvertedObject) -> str:
    """Return the last names of category paths as a cell, and add a note for each path of several names."""
    titles = []
    for path in paths:
        names = [name.strip() for name in path if name.strip()]
        if not names:
            continue
        if names[-1].isdecimal() and len(names) == 1:
            converted.notes.append(_NUMBERED_CATEGORY(number=names[-1]))
            continue
        if len(names) > 1:
            converted.notes.append(_LAST_OF_PATH(path=" > ".join(names), title=names[-1]))
        titles.append(names[-1])
    return format_list_cell([title] for title in dict.fromkeys(titles))


def normalize_number(cell: str) -> str:
    """Return a number with a decimal point. Other systems write a decimal comma in some languages."""
    cell = cell.strip()
    return cell.replace(".", "").replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell) else cell


def is_zero(number: str) -> bool:
    return not number.strip("0.,- ")


def get_prices(
    regular: str, sale: str, converted: ConvertedObject, *, starts: str = "", ends: str = "", retail: str = ""
) -> dict[str, str]:
    """Return the price and the compare-at price. A sale that is over or did not start yet is left out with a note."""
    regular, sale, retail = map(normalize_number, (regular, sale, retail))
    if sale and (note := _find_other_time(sale, starts, ends)):
        converted.notes.append(note)
        sale = ""
    if not sale or is_zero(sale):
        return {PRICE: regular, COMPARE_AT: "" if is_zero(retail) else retail}
    return {PRICE: sale, COMPARE_AT: regular if is_zero(retail) else retail}


def _find_other_time(price: str, starts: str, ends: str) -> Message | None:
    today = timezone.localdate()
    start, end = _parse_day(starts), _parse_day(ends)
    if end is not None and end < today:
        return _SALE_OVER(price=price, day=end.isoformat())
    return _SALE_AHEAD(price=price, day=start.isoformat()) if start is not None and start > today else None


def _parse_day(cell: str) -> date | None:
    """Return the day of a date or time. A date that can't be read or is zero does not limit a sale."""
    text = cell.strip().replace("T", " ").partition(" ")[0].strip(",")
    for day_format in _DAY_FORMATS:
        try:
            return datetime.strptime(text, day_format).date()  # noqa: DTZ007 - a day has no time zone
        except ValueError:
            continue
    return None


def get_weight(cell: str, unit: str = "") -> dict[str, str]:
    """Return the weight with its unit. Without a unit, weights are in the unit of the shop."""
    if not cell.strip():
        return {}
    cells = {WEIGHT: normalize_number(cell)}
    return {**cells, WEIGHT_UNIT: _WEIGHT_UNITS[unit]} if unit in _WEIGHT_UNITS else cells


def get_stock(quantity: str, *, is_tracked: bool, may_oversell: bool | None = None) -> dict[str, str]:
    """Return the columns of the stock. Without ``may_oversell``, the policy stays unchanged."""
    cells = {TRACKER: "shopify" if is_tracked else ""}
    if is_tracked and quantity.strip():
        cells[QUANTITY] = normalize_number(quantity)
    if may_oversell is not None:
        cells[POLICY] = "continue" if may_oversell else "deny"
    return cells


def get_option_cells(names: Sequence[str], values: Sequence[str]) -> dict[str, str]:
    """Return the columns of the options of a variant."""
    return dict(zip(OPTION_VALUES, values, strict=False)) | dict(zip(OPTION_NAMES, names, strict=False))


def check_options(names: Sequence[str]) -> None:
    """Raise ``Unconvertible`` if there are more options than a product can have."""
    if len(names) > len(OPTION_NAMES):
        raise Unconvertible(_TOO_MANY_OPTIONS(count=len(names), names=", ".join(names)[:_MAX_QUOTED]))


def copy_cells(row: SourceRow, columns: dict[str, str]) -> dict[str, str]:
    """Return cells under our names. ``columns`` is keyed by normalized column name. Missing columns are left out."""
    return {name: row.cells[column].strip() for column, name in columns.items() if row.has(column)}


def note_value(converted: ConvertedObject, name: str, value: str) -> None:
    """Add a note about a value that has no field, if there is a value."""
    if value.strip():
        converted.notes.append(NOT_IMPORTED(name=name, value=value.strip()[:_MAX_QUOTED]))
