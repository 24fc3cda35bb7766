"""The columns of inventory tables.

A table has a row for each variant and location, or a row for each variant with one column per location.
"""

from collections.abc import Iterable, Sequence

from apps.imports_exports.domain.formats.file_columns import normalize_column_name
from apps.imports_exports.domain.resources import ObjectData
from apps.imports_exports.domain.rows import Body, Cells
from apps.imports_exports.resources.products import table as product_table
from apps.imports_exports.resources.products.table import HANDLE, OPTION_NAMES, OPTION_VALUES
from apps.inventory.models import Location

SKU, LOCATION, TITLE = "SKU", "Location", "Title"
AVAILABLE, ON_HAND, NEW = "Available", "On hand", "On hand (new)"
COMMITTED, UNAVAILABLE = "Committed", "Unavailable"
# The prefix of the columns that each have the quantities at one location.
AT = "Available at "
_OPTION_COLUMNS = tuple(column for pair in zip(OPTION_NAMES, OPTION_VALUES, strict=True) for column in pair)
_VARIANT_COLUMNS = (HANDLE, TITLE, *_OPTION_COLUMNS, SKU)
_QUANTITY_COLUMNS = (UNAVAILABLE, COMMITTED, AVAILABLE, ON_HAND)
COLUMNS = (*_VARIANT_COLUMNS, LOCATION, *_QUANTITY_COLUMNS, NEW)
EXPORTED_COLUMNS = (*_VARIANT_COLUMNS, "HS Code", "COO", LOCATION, "Incoming", *_QUANTITY_COLUMNS)
ALIASES = {
    HANDLE: ("URL handle",),
    SKU: ("Variant SKU",),
    UNAVAILABLE: ("Unavailable (not editable)",),
    COMMITTED: ("Committed (not editable)",),
    AVAILABLE: ("Available (not editable)", "Quantity", "Stock", "Variant Inventory Qty", "Inventory quantity"),
    ON_HAND: ("On hand (current)",),
}
UNSUPPORTED = ("Bin name", "HS Code", "COO", "Incoming", "Incoming (not editable)")
# The members of an object, keyed by the columns of quantities.
QUANTITIES = {
    AVAILABLE: "available",
    ON_HAND: "on_hand",
    NEW: "new_on_hand",
    COMMITTED: "committed",
    UNAVAILABLE: "unavailable",
}
_UNSUPPORTED_NAMES = frozenset(map(normalize_column_name, UNSUPPORTED))
_PRODUCT_COLUMNS = frozenset(
    normalize_column_name(name)
    for name in (
        *product_table.COLUMNS,
        *product_table.UNSUPPORTED,
        *(alias for aliases in product_table.ALIASES.values() for alias in aliases),
    )
)


def find_column_names(columns: Sequence[str], known_names: Sequence[str]) -> list[str] | None:
    """Return our name for each column of an inventory table, or None if this is another table.

    ``known_names`` are the names that ``get_column_names`` finds. A table with other columns of products is a table of
    products. A table without a column of locations has at least one column with the name of a location.
    """
    names = list(known_names)
    others = [
        index
        for index, name in enumerate(names)
        if name not in _VARIANT_COLUMNS and normalize_column_name(columns[index]) not in _UNSUPPORTED_NAMES
    ]
    has_location = LOCATION in names
    foreign = [columns[index] for index in others if not (has_location and names[index])]
    if (SKU not in names and HANDLE not in names) or not _PRODUCT_COLUMNS.isdisjoint(
        map(normalize_column_name, foreign)
    ):
        return None
    if has_location:
        return names if {AVAILABLE, ON_HAND, NEW} & set(names) else None
    locations = {_fold(name): name for name in Location.objects.filter(active=True).values_list("name", flat=True)}
    found = {index: AT + locations[key] for index in others if (key := _fold(columns[index])) in locations}
    # The columns of quantities are totals of all locations here. Staff confirm that they are ignored.
    others_names = ["" if name in QUANTITIES else name for name in names]
    return [found.get(index, name) for index, name in enumerate(others_names)] if found else None


def get_location_columns() -> list[str]:
    """Return the columns to which staff can map the columns of a table with one column per location."""
    names = Location.objects.filter(active=True, legacy=False).order_by("name").values_list("name", flat=True)
    return list(dict.fromkeys(AT + name for name in names))


def _fold(text: str) -> str:
    return text.strip().casefold()


def parse_row(rows: Sequence[Cells]) -> Body:
    """Convert a row to the levels of a variant."""
    row = rows[0]
    body: dict[str, object] = {"sku": row.get(SKU, "").strip(), "handle": row.get(HANDLE, "").strip()}
    body["title"] = row.get(TITLE, "").strip()
    body["options"] = [row[column].strip() for column in OPTION_VALUES if row.get(column, "").strip()]
    levels = [
        {"location": column.removeprefix(AT), "available": cell.strip()}
        for column, cell in row.items()
        if column.startswith(AT)
    ]
    quantities = {name: row[column].strip() for column, name in QUANTITIES.items() if column in row}
    if quantities and (LOCATION in row or not levels):
        levels.append({"location": row.get(LOCATION, "").strip(), **quantities})
    return {**body, "levels": levels}


def convert_to_rows(level: ObjectData) -> Iterable[ObjectData]:
    """Return the CSV row of an exported level."""
    row = {HANDLE: level["handle"], TITLE: level["title"], SKU: level["sku"], LOCATION: level["levels"][0]["location"]}
    row |= {"HS Code": level["harmonized_system_code"], "COO": level["country_code_of_origin"]}
    row |= dict(zip(OPTION_VALUES, level["options"], strict=False))
    row |= dict(zip(OPTION_NAMES, level["option_names"], strict=False))
    available = level["levels"][0]["available"]
    return [row | {AVAILABLE: available, ON_HAND: available}]
