r"""Cells and columns that several resources share: lists, addresses and the format of the API.

In a list, a ``\`` escapes a ``;``, ``|`` or ``\`` in a value.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal

from apps.core.i18n.error_messages import INVALID, NOT_IN_LIST
from apps.core.i18n.messages import (
    FIELD_ERROR,
    PART_ERROR,
    Message,
    as_message,
    define_format,
    define_message,
    join_messages,
    pair_messages,
)
from apps.core.models import M
from apps.core.rest.exceptions import ApiError
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.versions import get_latest_version
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Errors, ReadOnlyAttrs
from apps.imports_exports.domain.rows import Cells, RowRefused

_SPECIAL = re.compile(r"([\\;|])")
_PIECE = re.compile(r"\\([\\;|])|([;|])|(.)", re.DOTALL)


def format_list_cell(rows: Iterable[Iterable[object]]) -> str:
    """Format rows of values as one cell: ``a|b; c|d``."""
    return "; ".join("|".join(_SPECIAL.sub(r"\\\1", str(value)) for value in row) for row in rows)


def parse_list_cell(cell: str) -> list[list[str]]:
    """Parse a cell into rows of values, and strip whitespace from the values. A blank cell has no rows."""
    if not cell.strip():
        return []
    rows: list[list[str]] = [[""]]
    for escaped, separator, character in _PIECE.findall(cell):
        if separator == ";":
            rows.append([""])
        elif separator:
            rows[-1].append("")
        else:
            rows[-1][-1] += escaped or character
    stripped = [[value.strip() for value in row] for row in rows]
    return stripped if any(stripped[-1]) else stripped[:-1]


def parse_value_list(cell: str) -> list[str]:
    return ["|".join(row) for row in parse_list_cell(cell)]


# The names that other systems use, keyed by our address columns in the order of the file.
ADDRESS_ALIASES = {
    "first_name": ("Given Name", "Forename"),
    "last_name": ("Surname", "Family Name"),
    "company": ("Company Name",),
    "address1": ("Address", "Street", "Street Address", "Address Line 1", "Address 1&2"),
    "address2": ("Address Line 2",),
    "city": ("Town",),
    "province": ("State", "Region", "County"),
    "country": ("Country/Region",),
    "zip": ("Postcode", "Postal Code", "Zip Code"),
    "phone": ("Telephone", "Phone Number", "Mobile"),
}
ADDRESS_COLUMNS = tuple(ADDRESS_ALIASES)
# Columns of an address that only imports read: a full name, and codes with or without names.
MORE_ADDRESS_ALIASES = {
    "name": ("Full Name",),
    "province_name": ("State Name",),
    "province_code": ("State Code",),
    "country_code": ("Country ISO",),
}
READ_ADDRESS_COLUMNS = (*ADDRESS_COLUMNS, *MORE_ADDRESS_ALIASES)
_VALUE_ERROR = define_format("imports.invalid_value", "{error}: {value}")
_MAX_QUOTED = 100
_PERSONAL_MEMBERS = frozenset({"email", "phone", "customer", "billing_address", "shipping_address", "note"})
VARIANT = define_message("product_imports.variant", "variant {title}")
NOT_A_NUMBER = define_message("product_imports.not_a_number", "{value} is not a whole number")
IMAGE = define_message("product_imports.image", "image {number}")


def build_address(cells: Cells, prefix: str = "") -> dict[str, str]:
    """Return an address in the format of a request body. Blank cells are omitted."""
    address = {
        name: cell for name in READ_ADDRESS_COLUMNS if (cell := cells.get(f"{prefix}{name}", "")) and cell.strip()
    }
    if province := address.pop("province_name", ""):
        # In a table with this column, the column ``province`` contains the code.
        code = address.pop("province", "")
        address = {"province_code": code, **address, "province": province}
    if address.get("first_name") and "last_name" not in address and "name" in address:
        address["last_name"] = address.pop("name")
    return address


def file_context() -> RenderContext:
    """Return the context to render objects for a file of the current shop, in the format of the latest API version."""
    return RenderContext(get_current_shop(), get_latest_version())


@contextmanager
def convert_api_errors(data: ReadOnlyAttrs | None = None) -> Iterator[None]:
    """Convert a validation error of the REST API to a ``RowRefused`` error with all messages in one sentence.

    The messages name the invalid values in ``data``.
    """
    try:
        yield
    except ApiError as error:
        errors = error.errors
        if isinstance(errors, Mapping):
            errors = name_values(errors, data or {})
            errors = join_messages(_build_error(field, pair_messages(messages)) for field, messages in errors.items())
        raise RowRefused(str(errors)) from error


def name_values(errors: Mapping[str, Sequence[str]], data: ReadOnlyAttrs) -> Errors:
    """Return the errors of a body with the values that are invalid, except for personal data."""
    return {field: [_name_value(message, _find_value(field, data)) for message in errors[field]] for field in errors}


def _name_value(message: str, value: object) -> str:
    if message not in {INVALID, NOT_IN_LIST} or isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        return message
    return _VALUE_ERROR(error=as_message(message), value=repr(str(value)[:_MAX_QUOTED]))


def _find_value(field: str, data: ReadOnlyAttrs) -> object:
    """Return the value at a dotted path, or None if there is no value or the value may be personal."""
    value: object = data
    for name in field.split("."):
        if name in _PERSONAL_MEMBERS:
            return None
        if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _build_error(field: str, error: Message) -> Message:
    """Return an error for a field path. Parts are counted from 1: ``variants.0.price`` becomes ``variant 1: price``."""
    member, _, path = field.partition(".")
    index, _, name = path.partition(".")
    if not (name and index.isdecimal()):
        return FIELD_ERROR(field=field, error=error)
    part, number = member.removesuffix("s").replace("_", " "), int(index) + 1
    labels = {"variant": VARIANT(title=str(number)), "image": IMAGE(number=number)}
    return PART_ERROR(part=labels.get(part) or f"{part} {number}", error=_build_error(name, error))


def get_member_names(serializer: type[ResourceSerializer[M]], *extra_names: str) -> frozenset[str]:
    """Return the allowed members of a JSON object: the fields of the serializer, ``id``, and ``extra_names``."""
    return frozenset({"id", *serializer._declared_fields, *extra_names})
