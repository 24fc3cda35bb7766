"""The pages that edit the lines of an order: the form, and a look at what it does before it is done."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from django import forms
from django.db.models import Q
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.catalog.models import Variant
from apps.ground import languages
from apps.ground.attrs import Attrs, Given
from apps.ground.errors import DomainError
from apps.ground.lookups import among
from apps.ground.retelling import retold
from apps.orders.domain import items
from apps.orders.domain.amending import Outcome
from apps.orders.domain.edits import Edit, LineEdit, discountable, removable
from apps.orders.domain.loading import lines_of
from apps.orders.models import LineItem, Order
from apps.panel.money import MoneyField
from apps.panel.wording import about, sentence

# So many variants a search offers, and may be added at once.
MOST_FOUND = 20
_ADD = re.compile(r"add-([1-9][0-9]{0,17})", re.ASCII)
_FIELDS = {"quantity": "units", "total_discount": "discount"}
_INPUT = {"class": "bo-input", "autocomplete": "off"}


@dataclass(frozen=True, slots=True)
class Row:
    """A line with its fields; ``discount`` is None where none can be given, ``least`` are the units that must stay."""

    line: LineItem
    price: str
    least: int
    units: forms.BoundField
    discount: forms.BoundField | None


@dataclass(frozen=True, slots=True)
class Found:
    """A variant that can be added, with its field."""

    variant: Variant
    name: str
    units: forms.BoundField


class LinesForm(forms.Form):
    """What becomes of each line, and which come to them.

    Args:
        order: Whose.
        data: What was sent; None where the page is opened.
    """

    seen_version = forms.IntegerField(widget=forms.HiddenInput)
    find = forms.CharField(
        label=gettext_lazy("SKU, barcode or beginning of the product's name"), required=False, max_length=255
    )
    own_title = forms.CharField(label=pgettext_lazy("line item", "What"), required=False, max_length=255)
    own_quantity = forms.IntegerField(
        label=gettext_lazy("Units"), required=False, min_value=1, max_value=items.MAX_UNITS
    )
    own_taxable = forms.BooleanField(label=gettext_lazy("Taxed as the other lines"), required=False, initial=True)
    own_shipping = forms.BooleanField(label=gettext_lazy("Has to be sent"), required=False, initial=True)

    def __init__(self, order: Order, data: QueryDict | None = None) -> None:
        super().__init__(data, initial={"seen_version": order.version, "own_quantity": 1})
        self.order, self.lines = order, lines_of(order)
        self.fields["own_price"] = MoneyField(currency=order.currency, label=_("Price of one"), required=False)
        for line in self.lines:
            self._add_line(line)
        self.variants = self._variants(data)
        for variant in self.variants:
            self.fields[f"add-{variant.pk}"] = _units(
                _("Units of {product} to add").format(product=_name(variant)), 0, items.MAX_UNITS, 0
            )
        for field in self.fields.values():
            if not isinstance(field.widget, forms.HiddenInput | forms.CheckboxInput):
                field.widget.attrs |= _INPUT

    def _add_line(self, line: LineItem) -> None:
        least = line.current_quantity - removable(line)
        most = line.current_quantity + items.MAX_UNITS
        words = _("At least {least}: units that were sent or refunded cannot be removed.").format(least=least)
        label = _("Units of {product}").format(product=line.name)
        self.fields[f"units-{line.pk}"] = _units(
            label, least, most, line.current_quantity, too_few=words if least else ""
        )
        if discountable(line):
            label = _("Discount on {product}, in {currency}").format(product=line.name, currency=self.order.currency)
            self.fields[f"discount-{line.pk}"] = MoneyField(currency=self.order.currency, label=label, required=False)

    def _variants(self, data: QueryDict | None) -> list[Variant]:
        """Those that are to be added already, then those that the search finds."""
        if data is None:
            return []
        named = [
            int(found[1]) for name, value in data.items() if (found := _ADD.fullmatch(name)) and value not in ("", "0")
        ]
        rows = Variant.objects.select_related("product", "inventory_item")
        chosen = list(rows.filter(pk__in=named[:MOST_FOUND]).order_by("pk"))
        term = str(data.get("find", "")).strip()[:255].replace("\0", "")
        if not term or data.get("step") != "find":
            return chosen
        matching = Variant.objects.filter(
            Q(inventory_item__sku__iexact=term) | Q(barcode__iexact=term) | Q(product__title__istartswith=term)
        )
        matched = rows.filter(among(matching.order_by("pk").values("pk")[:MOST_FOUND])).order_by("product__title", "pk")
        return chosen + [row for row in matched if row.pk not in named]

    # --- what the page shows ---

    @property
    def rows(self) -> Iterator[Row]:
        """The lines."""
        for line in self.lines:
            name = f"discount-{line.pk}"
            price = languages.money(line.price, self.order.currency)
            least = line.current_quantity - removable(line)
            yield Row(line, price, least, self[f"units-{line.pk}"], self[name] if name in self.fields else None)

    @property
    def found(self) -> Iterator[Found]:
        """The variants that can be added."""
        for variant in self.variants:
            yield Found(variant, _name(variant), self[f"add-{variant.pk}"])

    # --- what is asked for ---

    def clean(self) -> Attrs:
        """A line of its own has a title and a price, or nothing."""
        data = super().clean() or self.cleaned_data
        if data.get("own_title") and data.get("own_price") is None and "own_price" not in self.errors:
            self.add_error("own_price", _("Enter what one unit costs."))
        if data.get("own_price") is not None and not data.get("own_title"):
            self.add_error("own_title", _("Enter what it is."))
        return data

    @property
    def edit(self) -> Edit:
        """What the service is told."""
        data, lines = self.cleaned_data, {}
        for line in self.lines:
            units, discount = data.get(f"units-{line.pk}"), data.get(f"discount-{line.pk}")
            units = None if units == line.current_quantity else units
            if units is not None or discount:
                lines[line.pk] = LineEdit(units, discount) if discount else LineEdit(units)
        added: list[Given] = [
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
        return Edit(lines, added, data["seen_version"])

    def refuse(self, refusal: DomainError) -> None:
        """Say what the service said: at the line that it is about, where it is about one."""
        for name, messages in refusal.errors.items():
            rest = name.partition("line_items.")[2]
            pk, _dot, part = rest.partition(".")
            field = f"{_FIELDS.get(part, '')}-{pk}"
            known = field if field in self.fields else None
            self.add_error(known, [sentence(text) if known or rest else about(name, text) for text in messages])


def _units(label: str, least: int, most: int, initial: int, too_few: str = "") -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        min_value=least,
        max_value=most,
        initial=initial,
        required=False,
        error_messages={"invalid": _("Enter a whole number."), **({"min_value": too_few} if too_few else {})},
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
    )


def _name(variant: Variant) -> str:
    return variant.product.title if variant.is_default else f"{variant.product.title} - {variant.title}"


def shown(order: Order, outcome: Outcome) -> Attrs:
    """What an edit does, in words: its moves, the sums that change, and what is outstanding or owed then."""

    def money(amount: Decimal) -> str:
        return languages.money(amount, order.currency)

    return {
        "moves": [retold(move) for move in outcome.moves],
        "sums": [(_(name), money(old), money(new)) for name, old, new in outcome.sums],
        "outstanding": money(outcome.outstanding) if outcome.outstanding > 0 else "",
        "owed": money(-outcome.outstanding) if outcome.outstanding < 0 else "",
    }


def around(form: LinesForm, sent: QueryDict) -> Attrs:
    """What the page shows besides the lines: the fields of a line of its own, and what a second look sends again."""
    again = [(name, value) for name, value in sent.items() if name in form.fields and name != "seen_version"]
    return {
        "own": [form[name] for name in ("own_title", "own_price", "own_quantity", "own_taxable", "own_shipping")],
        "searched": sent.get("step") == "find" and bool(sent.get("find")),
        "sent": again,
    }
