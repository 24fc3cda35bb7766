"""Numbers as people write them: with a comma or a point, in groups of three, with or without the currency."""

import re

from django.utils.translation import gettext as _

from apps.ground.money import places_of

_SYMBOLS = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥", "CNY": "¥", "INR": "₹", "KRW": "₩", "ILS": "₪", "UAH": "₴"}
# What stands between groups of three digits, beside comma and point: spaces of every width, and apostrophes.
_SPACERS = r" \u00a0\u2009\u202f'’"
_SPACED = re.compile(rf"([0-9]{{1,3}}(?:[{_SPACERS}][0-9]{{3}})+)([.,][0-9]*)?", re.ASCII)
_GROUPED = re.compile(r"[0-9]{1,3}(?:([.,])[0-9]{3})(?:\1[0-9]{3})*", re.ASCII)


class Unclear(ValueError):
    """A number that can be read in two ways, or in none; the message says which."""


def plain_amount(text: str, currency: str) -> str:
    """An amount without separators of groups, and with a point before its decimals.

    ``9,90`` and ``9.90`` are the same; of ``1.234,50`` and ``1,234.50`` the last separator is the decimal one, and one
    that comes twice separates groups. A lone comma before three digits may be either, and is not guessed at, unless the
    currency has no decimals at all. A lone point is always the decimal one.

    Args:
        text: What was typed.
        currency: In which it is meant; empty where that is not known.

    Raises:
        Unclear: It can be read in two ways, or names another currency.
    """
    left = _without_currency(text.strip(), currency)
    spaced = _SPACED.fullmatch(left.lstrip("-"))
    if spaced:
        sign = "-" if left.startswith("-") else ""
        left = sign + re.sub(rf"[{_SPACERS}]", "", spaced[1]) + (spaced[2] or "")
    commas, points = left.count(","), left.count(".")
    if commas and points:
        return _with_both(left)
    if max(commas, points) > 1:
        if not _GROUPED.fullmatch(left.lstrip("-")):
            raise Unclear(_("Enter a number."))
        return left.replace(",", "").replace(".", "")
    if commas and not spaced and _GROUPED.fullmatch(left.lstrip("-")) and not left.lstrip("-").startswith("0"):
        whole, _sign, decimals = left.partition(",")
        if not places_of(currency):
            return whole + decimals
        text = _("Is this {whole}{decimals} or {whole}.{decimals}? Write it without the comma, or with a point.")
        raise Unclear(text.format(whole=whole, decimals=decimals))
    return left.replace(",", ".")


def _with_both(text: str) -> str:
    """Both signs occur: the last one stands before the decimals, the other one between groups."""
    decimal = max(".,", key=text.rfind)
    whole, _sign, decimals = text.rpartition(decimal)
    grouped = _GROUPED.fullmatch(whole.lstrip("-"))
    if not grouped or grouped[1] == decimal or not decimals.isdecimal():
        raise Unclear(_("Enter a number."))
    return f"{whole.replace(',', '').replace('.', '')}.{decimals}"


def _without_currency(text: str, currency: str) -> str:
    """The number alone, where the currency stands before or behind it."""
    for sign in (currency, currency.lower(), _SYMBOLS.get(currency, "")):
        if sign and text.startswith(sign):
            return text.removeprefix(sign).strip()
        if sign and text.endswith(sign):
            return text.removesuffix(sign).strip()
    if re.search(r"[^\W\d_]|[$€£¥₹₩₪₴]", text):
        raise Unclear(
            _("Enter a number, in {currency}.").format(currency=currency) if currency else _("Enter a number.")
        )
    return text
