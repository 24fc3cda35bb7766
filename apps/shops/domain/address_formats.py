"""Format addresses as the lines of an address label, as is usual in their country.

A format has lines separated by ``_`` with fields such as ``{zip}``. It determines the order of postal code and city,
and whether the province is shown.
"""

import re

from apps.core.types import ReadOnlyAttrs
from apps.shops.domain.countries import get_country_code, load_regions, localize_country, localize_province

# Most countries write the postal code before the city, and no province.
_USUAL = "{firstName} {lastName}_{company}_{address1}_{address2}_{zip} {city}_{country}_{phone}"
# The format of an address without a known country, which could have a province.
_UNKNOWN = "{firstName} {lastName}_{company}_{address1}_{address2}_{zip} {city}_{province}_{country}_{phone}"
# A field with the text around it, such as the postal mark of Japan.
_FIELD = re.compile(r"([^{}]*)\{(\w+)\}([^{} ,]*)")
_FIELD_NAMES = tuple(name for _before, name, _after in _FIELD.findall(_UNKNOWN.replace("_", "")))
_COLUMNS = {"firstName": "first_name", "lastName": "last_name"}


def get_address_format(country_code: str) -> str:
    row = load_regions().get(country_code)
    return _UNKNOWN if row is None else row.get("format", _USUAL)


def format_address(address: ReadOnlyAttrs) -> list[str]:
    """Return the lines of an address without blank lines. Country and province are in the current language."""
    code = get_country_code(address)
    values = {name: str(address.get(_COLUMNS.get(name, name)) or "").strip() for name in _FIELD_NAMES}
    values["province"] = localize_province(code, values["province"] or address.get("province_code"))
    values["country"] = localize_country(code, values["country"])
    template = get_address_format(code)
    if "{zip}" not in template:
        # A postal code of a country that officially has none is shown as it was entered.
        template = template.replace("{city}", "{city} {zip}")
    lines = (_format_line(line, values) for line in template.split("_"))
    return [line for line in lines if line]


def _format_line(line: str, values: dict[str, str]) -> str:
    """Replace the fields of a line. The text around a field without a value is omitted."""
    text = ""
    for before, name, after in _FIELD.findall(line):
        if values[name]:
            text += (before if text else before.lstrip(" ,")) + values[name] + after
    return text
