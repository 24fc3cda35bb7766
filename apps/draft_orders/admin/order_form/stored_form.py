"""Find the values of a stored draft order that the user changed in the form.

Only these values are sent to the service. The form shows some stored values in another way, for example null as a blank
field, so sending all of them would calculate a draft order again that the user only opened.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from django.http import QueryDict
from django.utils.encoding import punycode

from apps.draft_orders.admin.order_form.customer import CONTACT_FIELDS
from apps.draft_orders.admin.order_form.form import get_stored_data
from apps.draft_orders.models import DraftOrder, DraftOrderLine
from apps.orders.admin.forms import ADDRESS_FIELDS

_DISCOUNT = ("discount", "discount_type", "discount_reason")
_SHIPPING_ADDRESS, _BILLING_ADDRESS = (
    tuple(f"{kind}_{name}" for name in ADDRESS_FIELDS) for kind in ("shipping", "billing")
)
# The fields of each value of the service. Values that depend on other fields are read by ``_read_values``.
_FIELDS = {
    **{name: (name,) for name in ("email", "note", "tags", "tax_exempt", "discount_codes")},
    "customer_id": ("customer", *CONTACT_FIELDS),
    "shipping_line": ("shipping_title", "shipping_price"),
    "shipping_address": _SHIPPING_ADDRESS,
}
_VARIANT_FIELDS = ("variant", "quantity")
_CUSTOM_FIELDS = ("variant", "quantity", "title", "price", "taxable", "requires_shipping")


class StoredForm:
    def __init__(self, draft: DraftOrder, lines: Sequence[DraftOrderLine]) -> None:
        self._data = get_stored_data(draft, lines)
        self._numbers = {str(line.pk): number for number, line in enumerate(lines)}

    def find_changed_values(self, data: QueryDict) -> set[str]:
        """Return the names of the values that differ in ``data``, without the lines."""
        before, after = _read_values(self._data), _read_values(data)
        return {name for name in after if after[name] != before[name]}

    def has_line(self, data: QueryDict, number: int) -> bool:
        """Return True if a line of ``data`` is a stored line with the same values."""
        stored = self._numbers.get(data.get(f"line-{number}-id", ""))
        return stored is not None and _read_line(data, number) == _read_line(self._data, stored)

    def has_lines(self, data: QueryDict, numbers: Sequence[int]) -> bool:
        """Return True if ``data`` has all stored lines in the same order with the same values."""
        ids = [data.get(f"line-{number}-id", "") for number in numbers]
        return ids == list(self._numbers) and all(self.has_line(data, number) for number in numbers)


def normalize_text(text: str) -> str:
    """Return a text as browsers send it from a field with one line, without spaces at its ends."""
    return text.replace("\r", "").replace("\n", "").strip()


def _normalize_email(text: str) -> str:
    """Return an email address as browsers send it, with a domain in ASCII."""
    name, at, domain = normalize_text(text).rpartition("@")
    with suppress(UnicodeError):
        domain = punycode(domain)
    return f"{name}{at}{domain}"


_NORMALIZERS: dict[str, Callable[[str], str]] = {
    "note": lambda text: text.replace("\r", "").strip(),
    "email": _normalize_email,
}


def _read(data: QueryDict, names: Iterable[str]) -> list[str]:
    return [_NORMALIZERS.get(name, normalize_text)(data.get(name, "")) for name in names]


def _read_discount(data: QueryDict, prefix: str = "") -> list[str]:
    """Return the discount. Without an amount, its type and reason do not count."""
    texts = _read(data, [f"{prefix}{name}" for name in _DISCOUNT])
    return texts if texts[0] else []


def _read_values(data: QueryDict) -> dict[str, list[str]]:
    billing = _SHIPPING_ADDRESS if "billing_same" in data else _BILLING_ADDRESS
    return {
        **{name: _read(data, fields) for name, fields in _FIELDS.items()},
        "applied_discount": _read_discount(data),
        "billing_address": _read(data, ("billing_same", *billing)),
    }


def _read_line(data: QueryDict, number: int) -> list[str]:
    """Return the values that can be changed. A variant determines the others."""
    prefix = f"line-{number}-"
    names = _VARIANT_FIELDS if data.get(f"{prefix}variant") else _CUSTOM_FIELDS
    return [*_read(data, [f"{prefix}{name}" for name in names]), *_read_discount(data, prefix)]
