"""The options of a product in its form: up to three rows of a name and its values, which scripts show as chips."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.renderers import BaseRenderer
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from apps.catalog.domain.inputs import OptionInput
from apps.catalog.domain.options import COLUMNS
from apps.catalog.models import Product, ProductOption
from apps.catalog.models.products import MAX_OPTIONS
from apps.catalog.models.variants import DEFAULT_VALUE

LONGEST = 255


@dataclass(frozen=True, slots=True)
class OptionRow:
    """What one row of the form holds.

    Attributes:
        pk: The option's id, as text; empty for a new one.
        name: Its name; empty where there is none.
        values: Its values, separated by commas; one with a comma stands in quotation marks.
    """

    pk: str = ""
    name: str = ""
    values: str = ""

    @classmethod
    def of(cls, option: ProductOption) -> "OptionRow":
        """As the row is shown; the option of a product without options says nothing to people."""
        values = [value for value in option.values if value != DEFAULT_VALUE]
        hidden = not values and set(option.values) == {DEFAULT_VALUE} and option.name == "Title"
        return cls(str(option.pk), "" if hidden else option.name, line_of(values))


def named_columns(product: Product | None) -> dict[str, str]:
    """The columns in which the product's variants have values that say something to people, by their options' names."""
    options = product.options.all() if product else ()
    pairs = zip(COLUMNS, (OptionRow.of(option).name for option in options), strict=False)
    return {column: name for column, name in pairs if name}


def line_of(values: Sequence[str]) -> str:
    """Values as one line, from which ``values_of`` reads the same ones."""
    return ", ".join(f'"{value.replace(chr(34), chr(34) * 2)}"' if _is_odd(value) else value for value in values)


def values_of(line: str) -> list[str]:
    """The values of a line, once each.

    Raises:
        ValidationError: One is too long, or a quotation mark is left open.
    """
    flat = " ".join(line.split())
    if not flat:
        return []
    try:
        [read] = csv.reader([flat], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError) as error:
        raise ValidationError(_("Close the quotation marks of the values.")) from error
    values = list(dict.fromkeys(value.strip() for value in read if value.strip()))
    if any(len(value) > LONGEST for value in values):
        raise ValidationError(_("A value has at most {limit} characters.").format(limit=LONGEST))
    return values


def _is_odd(value: str) -> bool:
    return "," in value or value.startswith('"')


class OptionsWidget(forms.Widget):
    """Three rows of inputs, named ``<name>-<place>-id``, ``-name`` and ``-values``."""

    template_name = "panel/catalog/options.html"

    def value_from_datadict(self, data: Mapping[str, Any], files: object, name: str) -> list[OptionRow]:
        """The rows as they were sent."""
        return [
            OptionRow(*(str(data.get(f"{name}-{place}-{part}", "")).strip() for part in ("id", "name", "values")))
            for place in range(MAX_OPTIONS)
        ]

    def value_omitted_from_data(self, data: Mapping[str, Any], files: object, name: str) -> bool:
        """Whether none of the rows was sent."""
        return not any(key.startswith(f"{name}-") for key in data)

    def get_context(self, name: str, value: Sequence[OptionRow] | None, attrs: dict[str, Any] | None) -> dict[str, Any]:
        """The rows, empty ones at the end."""
        context = super().get_context(name, None, attrs)
        rows = list(value or [])
        context["widget"]["rows"] = [*rows, *[OptionRow()] * (MAX_OPTIONS - len(rows))][:MAX_OPTIONS]
        context["widget"]["longest"] = LONGEST
        return context

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: BaseRenderer | None = None
    ) -> SafeString:
        """With the project's templates."""
        return render_to_string(self.template_name, self.get_context(name, value, attrs))

    def id_for_label(self, id_: str) -> str:
        """The rows have labels of their own."""
        return ""


class OptionsField(forms.Field):
    """Reads the rows into the options as they should be; rows without a name are none."""

    widget = OptionsWidget

    def to_python(self, value: Sequence[OptionRow] | Any) -> list[OptionInput]:
        """The options.

        Raises:
            ValidationError: A name is missing or too long, or a value is.
        """
        wanted = []
        for row in value or []:
            values = values_of(row.values)
            if not row.name and values:
                text = _("What are “{value}” and the others? Give the option a name, such as Size.")
                raise ValidationError(text.format(value=values[0]))
            if len(row.name) > LONGEST:
                raise ValidationError(_("A name is too long."))
            if row.name:
                wanted.append(OptionInput(row.name, values, int(row.pk) if _is_id(row.pk) else None))
        return wanted

    def has_changed(self, initial: Sequence[OptionRow] | Any, data: Sequence[OptionRow] | Any) -> bool:
        """Whether names, values or their order are others."""

        def meant(rows: Sequence[OptionRow] | None) -> list[OptionRow]:
            return [row for row in rows or [] if row.name or row.values]

        return meant(initial) != meant(data)


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19
