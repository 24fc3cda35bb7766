"""Parse numbers as people type them: with a decimal comma or point, digit groups and an optional currency."""

import re

from django.utils.translation import gettext as _

from apps.core.money import get_decimal_places

_SYMBOLS = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥", "CNY": "¥", "INR": "₹", "KRW": "₩", "ILS": "₪", "UAH": "₴"}
# Spaces of any width and apostrophes. Like commas and points, they can separate groups of digits.
_SPACERS = r" \u00a0\u2009\u202f'’"
_SPACED = re.compile(rf"([0-9]{{1,3}}(?:[{_SPACERS}][0-9]{{3}})+)([.,][0-9]*)?", re.ASCII)
_GROUPED = re.compile(r"[0-9]{1,3}(?:([.,])[0-9]{3})(?:\1[0-9]{3})*", re.ASCII)


class InvalidNumber(ValueError):
    """Raised when a number is invalid or ambiguous. The message is shown to the user."""


def normalize_number(text: str, currency: str) -> str:
    """Return a typed amount without group separators and with a decimal point.

    ``9,90`` and ``9.90`` are the same amount. In ``1,234.50`` and ``1.234,50`` the last separator is the decimal
    separator. A separator that occurs more than once is a group separator. A single comma before three digits is
    ambiguous and refused, unless the currency has no decimals. A single point is always a decimal point. ``currency``
    is empty if unknown.

    Raises:
        InvalidNumber: The number is malformed or ambiguous, or the text contains another currency.
    """
    number = _strip_currency(text.strip(), currency)
    spaced_match = _SPACED.fullmatch(number.lstrip("-"))
    if spaced_match:
        sign = "-" if number.startswith("-") else ""
        number = sign + re.sub(rf"[{_SPACERS}]", "", spaced_match[1]) + (spaced_match[2] or "")
    commas, points = number.count(","), number.count(".")
    if commas and points:
        return _parse_with_both_separators(number)
    if max(commas, points) > 1:
        if not _GROUPED.fullmatch(number.lstrip("-")):
            raise InvalidNumber(_("Enter a number."))
        return number.replace(",", "").replace(".", "")
    if (
        commas
        and not spaced_match
        and _GROUPED.fullmatch(number.lstrip("-"))
        and not number.lstrip("-").startswith("0")
    ):
        integer_part, _sign, decimals = number.partition(",")
        if not get_decimal_places(currency):
            return integer_part + decimals
        text = _("Is this {whole}{decimals} or {whole}.{decimals}? Remove the comma or use a decimal point.")
        raise InvalidNumber(text.format(whole=integer_part, decimals=decimals))
    return number.replace(",", ".")


def _parse_with_both_separators(text: str) -> str:
    decimal_separator = max(".,", key=text.rfind)
    integer_part, _sign, decimals = text.rpartition(decimal_separator)
    group_match = _GROUPED.fullmatch(integer_part.lstrip("-"))
    if not group_match or group_match[1] == decimal_separator or not decimals.isdecimal():
        raise InvalidNumber(_("Enter a number."))
    return f"{integer_part.replace(',', '').replace('.', '')}.{decimals}"


def _strip_currency(text: str, currency: str) -> str:
    for sign in (currency, currency.lower(), _SYMBOLS.get(currency, "")):
        if sign and text.startswith(sign):
            return text.removeprefix(sign).strip()
        if sign and text.endswith(sign):
            return text.removesuffix(sign).strip()
    if re.search(r"[^\W\d_]|[$€£¥₹₩₪₴]", text):
        raise InvalidNumber(
            _("Enter an amount in {currency}.").format(currency=currency) if currency else _("Enter a number.")
        )
    return text
