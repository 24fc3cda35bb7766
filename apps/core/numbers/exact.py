"""Read whole numbers and decimals exactly, from JSON numbers or from plain ASCII digits.

Zeros at the end of the decimals do not change a number: ``3.0`` is 3, and ``12.340`` has two decimals.
"""

import re
from decimal import Decimal

_WHOLE = re.compile(r"(-?[0-9]{1,19})(?:\.0{1,40})?", re.ASCII)
_MAX_EXPONENT = 20


def parse_whole_number(value: object) -> int | None:
    """Return a JSON number or a string of digits as an integer, or None if the value is not a whole number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, Decimal):
        is_whole = value.is_finite() and abs(value.adjusted()) <= _MAX_EXPONENT and value == value.to_integral_value()
        return int(value) if is_whole else None
    match = _WHOLE.fullmatch(value) if isinstance(value, str) else None
    return int(match[1]) if match else None


def write_digits(value: object) -> str | None:
    """Return a JSON number or a string as a string without an exponent, or None if the number is out of range."""
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        return None
    if isinstance(value, Decimal):
        return format(value, "f") if value.is_finite() and abs(value.adjusted()) <= _MAX_EXPONENT else None
    return str(value)


def trim_decimals(digits: str, places: int) -> str | None:
    """Remove zeros after the last of ``places`` decimals. Return None if other decimals would be lost."""
    whole, point, decimals = digits.partition(".")
    if len(decimals) <= places:
        return digits
    if decimals[places:].strip("0"):
        return None
    return f"{whole}{point}{decimals[:places]}" if places else whole
