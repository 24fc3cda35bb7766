import re
from collections.abc import Iterator
from dataclasses import dataclass

from django import forms
from django.db.models import Q
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.catalog.models import Variant
from apps.core.admin.display.money import MoneyField
from apps.core.admin.forms.error_display import as_sentence, format_field_error
from apps.core.db.lookups import in_materialized
from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.orders.domain.create import lines as draft_lines
from apps.orders.domain.edit_lines import EditResult, LineEdit, OrderEdit, get_max_discount, get_removable_quantity
from apps.orders.domain.pricing.totals import get_shop_formatter
from apps.orders.domain.selectors import get_line_items
from apps.orders.models import LineItem, Order

# The maximum number of search results, and of variants that one edit can add.
MAX_SEARCH_RESULTS = 20
_ADD = re.compile(r"add-([1-9][0-9]{0,17})", re.ASCII)
_FIELDS = {"quantity": "units", "total_discount": "discount"}
_INPUT = {"class": "bo-input", "autocomplete": "off"}


@dataclass(frozen=True, slots=True)
class LineRow:
    """A line item with its form fields. ``minimum`` is the lowest quantity that staff can enter."""

    line: LineItem
    price: str
    minimum: int
    quantity: forms.BoundField
    discount: forms.BoundField | None


@dataclass(frozen=True, slots=True)
class VariantRow:
    variant: Variant
    name: str
    quantity: forms.BoundField


class LinesForm(forms.Form):
    seen_version = forms.IntegerField(widget=forms.HiddenInput)
    find = forms.CharField(
        label=gettext_lazy("SKU, barcode or beginning of the product title"), required=False, max_length=255
    )
    own_title = forms.CharField(label=pgettext_lazy("line item", "Title"), required=False, max_length=255)
    own_quantity = forms.IntegerField(
        label=gettext_lazy("Quantity"), required=False, min_value=1, max_value=draft_lines.MAX_QUANTITY
    )
    own_taxable = forms.BooleanField(label=gettext_lazy("Taxable"), required=False, initial=True)
    own_shipping = forms.BooleanField(label=gettext_lazy("Requires shipping"), required=False, initial=True)

    def __init__(self, order: Order, data: QueryDict | None = None) -> None:
        super().__init__(data, initial={"seen_version": order.version, "own_quantity": 1})
        self.order, self.lines = order, get_line_items(order)
        self.fields["own_price"] = MoneyField(currency=order.currency, label=_("Price per item"), required=False)
        for line in self.lines:
            self._add_line(line)
        self.variants = self._variants(data)
        for variant in self.variants:
            self.fields[f"add-{variant.pk}"] = _quantity_field(
                _("Quantity of {product} to add").format(product=_variant_name(variant)), 0, draft_lines.MAX_QUANTITY, 0
            )
        for field in self.fields.values():
            if not isinstance(field.widget, forms.HiddenInput | forms.CheckboxInput):
                field.widget.attrs |= _INPUT
        self.fields["find"].widget.attrs["data-enter"] = "find"
        self.fields[self._initial_focus(data)].widget.attrs["autofocus"] = True

    def _add_line(self, line: LineItem) -> None:
        least = line.current_quantity - get_removable_quantity(line)
        most = line.current_quantity + draft_lines.MAX_QUANTITY
        message = _("Enter at least {least}: fulfilled or refunded items cannot be removed.").format(least=least)
        label = _("Quantity of {product}").format(product=line.name)
        self.fields[f"units-{line.pk}"] = _quantity_field(
            label, least, most, line.current_quantity, too_few=message if least else ""
        )
        if get_max_discount(line):
            label = _("Discount on {product} ({currency})").format(product=line.name, currency=self.order.currency)
            self.fields[f"discount-{line.pk}"] = MoneyField(currency=self.order.currency, label=label, required=False)

    def _variants(self, data: QueryDict | None) -> list[Variant]:
        if data is None:
            return []
        added_ids = [
            int(match[1]) for name, value in data.items() if (match := _ADD.fullmatch(name)) and value not in ("", "0")
        ]
        rows = Variant.objects.select_related("product", "inventory_item")
        added = list(rows.filter(pk__in=added_ids[:MAX_SEARCH_RESULTS]).order_by("pk"))
        term = str(data.get("find", "")).strip()[:255].replace("\0", "")
        if not term or data.get("step") != "find":
            return added
        matching = Variant.objects.filter(
            Q(inventory_item__sku__iexact=term) | Q(barcode__iexact=term) | Q(product__title__istartswith=term)
        )
        matched = rows.filter(in_materialized(matching.order_by("pk").values("pk")[:MAX_SEARCH_RESULTS])).order_by(
            "product__title", "pk"
        )
        return added + [row for row in matched if row.pk not in added_ids]

    def _initial_focus(self, data: QueryDict | None) -> str:
        """Return the field of the first new result after a search, otherwise of the first line item."""
        new = [name for name in self.fields if name.startswith("add-") and data is not None and name not in data]
        units = [f"units-{line.pk}" for line in self.lines]
        searching = data is not None and data.get("step") == "find"
        return [*new, "find"][0] if searching else [*units, "find"][0]

    # --- displayed rows ---

    @property
    def line_rows(self) -> Iterator[LineRow]:
        for line in self.lines:
            name = f"discount-{line.pk}"
            price = formats.format_money(line.price, self.order.currency)
            least = line.current_quantity - get_removable_quantity(line)
            yield LineRow(line, price, least, self[f"units-{line.pk}"], self[name] if name in self.fields else None)

    @property
    def variant_rows(self) -> Iterator[VariantRow]:
        for variant in self.variants:
            yield VariantRow(variant, _variant_name(variant), self[f"add-{variant.pk}"])

    # --- requested changes ---

    def clean(self) -> Attrs:
        data = super().clean() or self.cleaned_data
        if data.get("own_title") and data.get("own_price") is None and "own_price" not in self.errors:
            self.add_error("own_price", _("Enter a price."))
        if data.get("own_price") is not None and not data.get("own_title"):
            self.add_error("own_title", _("Enter a title."))
        return data

    @property
    def edit(self) -> OrderEdit:
        data, lines = self.cleaned_data, {}
        for line in self.lines:
            units, discount = data.get(f"units-{line.pk}"), data.get(f"discount-{line.pk}")
            units = None if units == line.current_quantity else units
            if units is not None or discount:
                lines[line.pk] = LineEdit(units, discount) if discount else LineEdit(units)
        added: list[ReadOnlyAttrs] = [
            {"variant_id": variant.pk, "quantity": count}
            for variant in self.variants
            if (count := data.get(f"add-{variant.pk}"))
        ]
        if data.get("own_title"):
            added.append(
                {
                    "title": data["own_title"],
                    "price": data["own_price"],
                    "quantity": data["own_quantity"] or 1,
                    "taxable": data["own_taxable"],
                    "requires_shipping": data["own_shipping"],
                }
            )
        return OrderEdit(lines, added, data["seen_version"])

    def add_domain_error(self, error: DomainError) -> None:
        for name, messages in error.errors.items():
            path = name.partition("line_items.")[2]
            pk, _dot, part = path.partition(".")
            field = f"{_FIELDS.get(part, '')}-{pk}"
            form_field = field if field in self.fields else None
            self.add_error(
                form_field,
                [as_sentence(text) if form_field or path else format_field_error(name, text) for text in messages],
            )


def _quantity_field(label: str, least: int, most: int, initial: int, too_few: str = "") -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        min_value=least,
        max_value=most,
        initial=initial,
        required=False,
        error_messages={"invalid": _("Enter a whole number."), **({"min_value": too_few} if too_few else {})},
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
    )


def _variant_name(variant: Variant) -> str:
    return variant.product.title if variant.is_default else f"{variant.product.title} - {variant.title}"


def describe_edit(order: Order, outcome: EditResult) -> Attrs:
    money = get_shop_formatter(order)
    return {
        "changes": [change.localize() for change in outcome.changes],
        "changed_totals": [(_(name), money(old), money(new)) for name, old, new in outcome.changed_totals],
        "outstanding": money(outcome.outstanding) if outcome.outstanding > 0 else "",
        "owed": money(-outcome.outstanding) if outcome.outstanding < 0 else "",
    }


def get_page_context(form: LinesForm, data: QueryDict) -> Attrs:
    """Return the template context: the fields for a custom item and the hidden fields of the review page."""
    hidden_fields = [(name, value) for name, value in data.items() if name in form.fields and name != "seen_version"]
    return {
        "own": [form[name] for name in ("own_title", "own_price", "own_quantity", "own_taxable", "own_shipping")],
        "searched": data.get("step") == "find" and bool(data.get("find")),
        "sent": hidden_fields,
    }
