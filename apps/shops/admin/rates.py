"""The currencies that prices are shown in, as rows of a form: a code, a rate, a rounding rule."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.forms.renderers import BaseRenderer
from django.http import QueryDict
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from apps.ground.money import currencies
from apps.ground.retelling import retold
from apps.panel.requests import Context
from apps.shops.domain.presentment import MOST, ROUNDINGS

PARTS = ("currency", "rate", "rounding")
SPARE = 3
Row = Mapping[str, str | None]


class RatesWidget(forms.Widget):
    """Rows, and some empty ones; a row without a code is none."""

    template_name = "panel/shops/rates.html"

    def get_context(self, name: str, value: object, attrs: Context | None) -> Context:
        """The rows with their choices."""
        context = super().get_context(name, value, attrs)
        rows = value if isinstance(value, list) else []
        spare = min(SPARE, MOST - len(rows))
        context["widget"] |= {
            "rows": [*rows, *[dict.fromkeys(PARTS, "")] * spare],
            "currencies": sorted(currencies()),
            "roundings": [(rule, retold(words)) for rule, words in ROUNDINGS.items()],
        }
        return context

    def render(
        self, name: str, value: object, attrs: Context | None = None, renderer: BaseRenderer | None = None
    ) -> SafeString:
        """With the panel's templates, not those of the forms."""
        return render_to_string(self.template_name, self.get_context(name, value, attrs))

    def value_from_datadict(self, data: Any, files: object, name: str) -> list[dict[str, str | None]]:
        """The rows that name a currency."""
        return read_rows(data, name)

    def value_omitted_from_data(self, data: Any, files: object, name: str) -> bool:
        """Rows are there as soon as one part of them is."""
        return not any(f"{name}-{part}" in data for part in PARTS)


def read_rows(data: QueryDict, name: str) -> list[dict[str, str | None]]:
    """The rows of a form's data, as they are kept where they fit."""
    lists = [data.getlist(f"{name}-{part}")[: MOST + SPARE] for part in PARTS]
    rows = [dict(zip(PARTS, map(str.strip, row), strict=True)) for row in zip(*lists, strict=False)]
    said = [row for row in rows if any(row.values())]
    # A rate has many decimals, and a comma before them or a point.
    return [{**row, "currency": row["currency"].upper(), "rate": row["rate"].replace(",", ".") or None} for row in said]


class PresentmentField(forms.Field):
    """The rows as they were typed; the form knows the shop's own currency and checks them."""

    widget = RatesWidget

    def has_changed(self, initial: object, data: object) -> bool:
        """Whether a row differs."""
        return (initial or []) != (data or [])
