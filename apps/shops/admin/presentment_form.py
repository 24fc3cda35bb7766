"""A form field for presentment currencies: rows with currency code, exchange rate and rounding rule."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.forms.renderers import BaseRenderer
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from apps.core.admin.staff_request import Context
from apps.core.i18n.messages import translate
from apps.core.money import get_currencies
from apps.core.tenancy.currency_conversion import MAX_CURRENCIES, ROUNDINGS

PARTS = ("currency", "rate", "rounding")
EMPTY_ROWS = 3
Row = Mapping[str, str | None]


class RatesWidget(forms.Widget):
    """A widget with one row of inputs per currency, followed by empty rows. Empty rows are ignored."""

    template_name = "panel/shops/rates.html"

    def get_context(self, name: str, value: object, attrs: Context | None) -> Context:
        context = super().get_context(name, value, attrs)
        rows = value if isinstance(value, list) else []
        spare = min(EMPTY_ROWS, MAX_CURRENCIES - len(rows))
        context["widget"] |= {
            "rows": [*rows, *[dict.fromkeys(PARTS, "")] * spare],
            "currencies": sorted(get_currencies()),
            "roundings": [(rule, translate(words)) for rule, words in ROUNDINGS.items()],
        }
        return context

    def render(
        self, name: str, value: object, attrs: Context | None = None, renderer: BaseRenderer | None = None
    ) -> SafeString:
        """Render the widget with the project's template engine, which finds the panel's templates."""
        return render_to_string(self.template_name, self.get_context(name, value, attrs))

    def value_from_datadict(self, data: Any, files: object, name: str) -> list[dict[str, str | None]]:
        lists = [data.getlist(f"{name}-{part}")[: MAX_CURRENCIES + EMPTY_ROWS] for part in PARTS]
        rows = [dict(zip(PARTS, map(str.strip, row), strict=True)) for row in zip(*lists, strict=False)]
        # A comma in a rate is always a decimal comma, even before three digits.
        return [
            {**row, "currency": row["currency"].upper(), "rate": row["rate"].replace(",", ".") or None}
            for row in rows
            if any(row.values())
        ]

    def value_omitted_from_data(self, data: Any, files: object, name: str) -> bool:
        return not any(f"{name}-{part}" in data for part in PARTS)


class PresentmentField(forms.Field):
    """A field for presentment currencies. The form checks the rows, because the checks need the shop currency."""

    widget = RatesWidget

    def has_changed(self, initial: Sequence[Row] | None, data: Sequence[Row] | None) -> bool:
        """Compare the parts that staff can edit. The time of a rate is not among them."""
        shown, sent = ([{part: row.get(part) for part in PARTS} for row in rows or ()] for rows in (initial, data))
        return shown != sent
