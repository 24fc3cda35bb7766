"""Form field for product options: up to three rows, each with a name and values that JavaScript shows as chips."""

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

MAX_OPTION_LENGTH = 255


@dataclass(frozen=True, slots=True)
class OptionRow:
    """One row of the options field. ``values`` is separated by commas. A value that contains a comma is quoted."""

    pk: str = ""
    name: str = ""
    values: str = ""

    @classmethod
    def from_option(cls, option: ProductOption) -> "OptionRow":
        """Return the row of an existing option. The row of the default option is empty."""
        values = [value for value in option.values if value != DEFAULT_VALUE]
        is_default = not values and set(option.values) == {DEFAULT_VALUE} and option.name == "Title"
        return cls(str(option.pk), "" if is_default else option.name, format_values(values))


def get_option_labels(product: Product | None) -> dict[str, str]:
    """Return the product's option names, keyed by variant column. The default option is omitted."""
    options = product.options.all() if product else ()
    pairs = zip(COLUMNS, (OptionRow.from_option(option).name for option in options), strict=False)
    return {column: name for column, name in pairs if name}


def format_values(values: Sequence[str]) -> str:
    return ", ".join(
        f'"{value.replace(chr(34), chr(34) * 2)}"' if "," in value or value.startswith('"') else value
        for value in values
    )


def parse_values(line: str) -> list[str]:
    """Parse a comma-separated line of option values and remove duplicates."""
    flat = " ".join(line.split())
    if not flat:
        return []
    try:
        [fields] = csv.reader([flat], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError) as error:
        raise ValidationError(_("Add the missing quotation mark.")) from error
    values = list(dict.fromkeys(value.strip() for value in fields if value.strip()))
    if any(len(value) > MAX_OPTION_LENGTH for value in values):
        raise ValidationError(_("Enter at most {limit} characters per value.").format(limit=MAX_OPTION_LENGTH))
    return values


class TemplateWidget(forms.Widget):
    """Base class of widgets with a template of the panel instead of a form template of Django."""

    template_name: str

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: BaseRenderer | None = None
    ) -> SafeString:
        return render_to_string(self.template_name, self.get_context(name, value, attrs))


class OptionsWidget(TemplateWidget):
    """Widget with three rows. The inputs of each row are named ``<name>-<index>-id``, ``-name`` and ``-values``."""

    template_name = "panel/catalog/options.html"

    def value_from_datadict(self, data: Mapping[str, Any], files: object, name: str) -> list[OptionRow]:
        return [
            OptionRow(*(str(data.get(f"{name}-{index}-{part}", "")).strip() for part in ("id", "name", "values")))
            for index in range(MAX_OPTIONS)
        ]

    def value_omitted_from_data(self, data: Mapping[str, Any], files: object, name: str) -> bool:
        return not any(key.startswith(f"{name}-") for key in data)

    def get_context(self, name: str, value: Sequence[OptionRow] | None, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, None, attrs)
        rows = list(value or [])
        context["widget"]["rows"] = [*rows, *[OptionRow()] * (MAX_OPTIONS - len(rows))][:MAX_OPTIONS]
        context["widget"]["longest"] = MAX_OPTION_LENGTH
        return context

    def id_for_label(self, id_: str) -> str:
        """Return an empty id, because each row has its own labels."""
        return ""


class OptionsField(forms.Field):
    """Form field that converts the rows to options. Empty rows are ignored."""

    widget = OptionsWidget

    def to_python(self, value: Sequence[OptionRow] | Any) -> list[OptionInput]:
        options = []
        for row in value or []:
            values = parse_values(row.values)
            if not row.name and values:
                text = _("Enter a name, such as Size, for the option with the value “{value}”.")
                raise ValidationError(text.format(value=values[0]))
            if len(row.name) > MAX_OPTION_LENGTH:
                raise ValidationError(_("The option name is too long."))
            if row.name:
                is_id = row.pk.isascii() and row.pk.isdecimal() and len(row.pk) < 19
                options.append(OptionInput(row.name, values, int(row.pk) if is_id else None))
        return options

    def has_changed(self, initial: Sequence[OptionRow] | Any, data: Sequence[OptionRow] | Any) -> bool:
        def without_empty_rows(rows: Sequence[OptionRow] | None) -> list[OptionRow]:
            return [row for row in rows or [] if row.name or row.values]

        return without_empty_rows(initial) != without_empty_rows(data)
