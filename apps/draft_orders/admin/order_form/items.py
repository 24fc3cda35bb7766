"""The items of an order: a form for each line, and the steps that add, change and remove lines."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from django import forms
from django.db.models import F, OuterRef, QuerySet
from django.db.models.functions import Coalesce
from django.http import QueryDict
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.catalog.admin.images import MainImage, thumbnail
from apps.catalog.models import ProductImage, Variant
from apps.core.admin.display.money import MoneyField
from apps.core.i18n import formats
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.draft_orders.admin.order_form.base import Steps, parse_form_id
from apps.draft_orders.admin.order_form.discounts import DiscountForm
from apps.draft_orders.models import DraftOrderLine
from apps.inventory.domain.item_lookup import find_items
from apps.orders.domain.create.lines import MAX_QUANTITY

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

VariantWithImage: TypeAlias = "WithAnnotations[Variant, MainImage]"

_MISSING = {
    "title": gettext_lazy("Enter a title."),
    "price": gettext_lazy("Enter a price."),
    "quantity": gettext_lazy("Enter a quantity."),
}
_LINE = re.compile(r"line-([0-9]{1,4})-(?:variant|title|quantity)", re.ASCII)
# A number with up to this many digits is the quantity of the last line, unless it is the SKU or barcode of an item.
_SHORT_NUMBER = re.compile(r"(\+?)([0-9]{1,5})", re.ASCII)


class LineForm(DiscountForm):
    """A line of the order: a variant or, without one, a custom item with its own title and price.

    ``name`` is the displayed name, in case the variant is deleted while the form is open. ``row`` is the calculated
    line.
    """

    id = forms.IntegerField(required=False, widget=forms.HiddenInput)
    variant = forms.IntegerField(required=False, widget=forms.HiddenInput)
    name = forms.CharField(required=False, max_length=1100, widget=forms.HiddenInput)
    title = forms.CharField(label=pgettext_lazy("line item", "Title"), required=False, max_length=255)
    price = MoneyField(label=gettext_lazy("Price per item"), required=False)
    quantity = forms.IntegerField(
        label=gettext_lazy("Quantity"),
        required=False,
        min_value=1,
        max_value=MAX_QUANTITY,
        widget=forms.TextInput(attrs={"inputmode": "numeric", "size": "5", "maxlength": "7"}),
        error_messages={"invalid": gettext_lazy("Enter a whole number.")},
    )
    taxable = forms.BooleanField(label=gettext_lazy("Taxable"), required=False)
    requires_shipping = forms.BooleanField(label=gettext_lazy("Requires shipping"), required=False)

    def __init__(
        self,
        data: QueryDict,
        number: int,
        *,
        variants: Mapping[int, VariantWithImage],
        is_saving: bool = False,
        focus: str = "",
    ) -> None:
        self.number, prefix = number, f"line-{number}"
        pk = data.get(f"{prefix}-variant", "")
        self.catalog_row = variants.get(parse_form_id(pk) or 0)
        self.is_custom = not pk
        self.row: DraftOrderLine | None = None
        super().__init__(data, prefix=prefix, is_saving=is_saving, focus=focus)

    @property
    def amount_label(self) -> str:
        return _("{currency} per item").format(currency=super().amount_label)

    @property
    def display_name(self) -> str:
        if self.catalog_row:
            return self.catalog_row.full_name
        return str(self[("title" if self.is_custom else "name")].value() or "") or _("Custom item")

    @property
    def thumbnail(self) -> SafeString:
        return _render_thumbnail(self.catalog_row)

    @property
    def stock_text(self) -> str:
        """Return the quantity in stock, if it is tracked."""
        if self.catalog_row is None or not self.catalog_row.inventory_item.tracked:
            return ""
        return _("{count} in stock").format(count=formats.format_integer(self.catalog_row.inventory_quantity))

    @property
    def is_short(self) -> bool:
        """Return True if the stock is too low for the quantity, and the variant must not be oversold."""
        variant, quantity = self.catalog_row, self.cleaned_data.get("quantity") if self.is_valid() else None
        if variant is None or quantity is None or not variant.inventory_item.tracked:
            return False
        return variant.inventory_policy == Variant.InventoryPolicy.DENY and quantity > variant.inventory_quantity

    @property
    def amounts(self) -> ReadOnlyAttrs:
        """Return the calculated price and totals of the line, formatted."""
        if self.row is None:
            return {}
        names, currency = ("price", "gross_price", "net_price"), get_current_shop().currency
        return {name: formats.format_money(getattr(self.row, name), currency) for name in names}

    def clean(self) -> Attrs:
        data = super().clean() or self.cleaned_data
        if not self.is_custom and self.catalog_row is None:
            self.add_error(None, _("This product was deleted. Remove the line."))
        missing = [name for name in self._required if name not in self.errors and data.get(name) in (None, "")]
        for name in missing if self.is_saving else ():
            self.add_error(name, _MISSING[name])
        return data

    @property
    def _required(self) -> Sequence[str]:
        return ("title", "price", "quantity") if self.is_custom else ("quantity",)

    @property
    def is_complete(self) -> bool:
        """Return True if the line can be calculated."""
        return self.is_valid() and all(self.cleaned_data.get(name) not in (None, "") for name in self._required)

    @property
    def values(self) -> Attrs:
        """Return the line in the format of the service."""
        data = self.cleaned_data
        line = {"quantity": data["quantity"], "applied_discount": self.applied_discount}
        if data.get("id"):
            line["id"] = data["id"]
        if not self.is_custom:
            return {**line, "variant_id": data["variant"]}
        own = {name: data[name] for name in ("title", "price", "taxable", "requires_shipping")}
        return {**line, **own, "variant_id": None}


@dataclass(frozen=True, slots=True)
class FoundVariant:
    """A search result, with a price and the quantity in stock if the variant's stock is tracked."""

    variant: VariantWithImage
    price: str
    stock: int | None

    @property
    def thumbnail(self) -> SafeString:
        return _render_thumbnail(self.variant)


class ItemSteps(Steps):
    search_field = "code"

    def __init__(self, data: QueryDict) -> None:
        super().__init__(data)
        self._found: list[VariantWithImage] = []

    @property
    def found(self) -> list[FoundVariant]:
        currency = get_current_shop().currency
        return [
            FoundVariant(
                row,
                formats.format_money(row.price, currency),
                row.inventory_quantity if row.inventory_item.tracked else None,
            )
            for row in self._found
        ]

    def suggest(self) -> None:
        if len(self.term) > 1:
            self._found = _find_variants(self.term)[0]

    def enter(self) -> None:
        """Add the product with the entered code, or change the quantity of the line that was added last."""
        code, number = self.term, _SHORT_NUMBER.fullmatch(self.term)
        last = self.data.get("last", "")
        has_last = last in map(str, self._numbers)
        if number and has_last and number[1]:
            self._set_quantity(last, self._get_quantity(last) + int(number[2]))
            return
        variants, has_code = _find_variants(code)
        # An unknown barcode must not add the product with a longer number.
        if len(variants) == 1 and (has_code or not code.isdecimal()):
            self._add_variant(variants[0])
        elif number and has_last and not has_code:
            self._set_quantity(last, int(number[2]))
        else:
            self._found = variants
            text = _("“{code}” matches several products. Choose one.")
            if not variants:
                text = _("No product matches “{code}”.")
            if len(variants) == 1:
                text = _("No product has the SKU or barcode “{code}”.")
            self.error = text.format(code=code)

    def add(self, variant_id: int) -> None:
        for variant in _get_variants([variant_id]).values():
            self._add_variant(variant)

    def _add_variant(self, variant: VariantWithImage) -> None:
        self.term = ""
        for number in self._numbers:
            if self.data.get(f"line-{number}-variant") == str(variant.pk):
                self._set_quantity(str(number), self._get_quantity(str(number)) + 1)
                return
        self._append({"variant": str(variant.pk), "name": variant.full_name, "quantity": "1"})
        self.message = _("{name}: {quantity}").format(name=variant.full_name, quantity=1)

    def add_custom(self) -> None:
        self.focus = self._append({"quantity": "1", "taxable": "on", "requires_shipping": "on"}) + "-title"

    def _append(self, values: Mapping[str, str]) -> str:
        number = max(self._numbers, default=-1) + 1
        for name, value in values.items():
            self.data[f"line-{number}-{name}"] = value
        self.data["last"] = str(number)
        return f"line-{number}"

    def _get_quantity(self, number: str) -> int:
        text = self.data.get(f"line-{number}-quantity", "").strip()
        return int(text) if text.isdecimal() and len(text) <= 7 else 0

    def _set_quantity(self, number: str, quantity: int) -> None:
        self.data[f"line-{number}-quantity"], self.data["last"] = str(quantity), number
        self.term, name = "", self._get_name(int(number))
        self.message = _("{name}: {quantity}").format(name=name, quantity=quantity)

    def remove(self, number: str) -> None:
        self.message = _("{name} removed.").format(name=self._get_name(int(number[:4])))
        for name in [name for name in self.data if name.startswith(f"line-{number}-")]:
            del self.data[name]

    def _get_name(self, number: int) -> str:
        (line,) = self._build_lines([number])
        return line.display_name

    def build_lines(self, *, is_saving: bool) -> list[LineForm]:
        return self._build_lines(self._numbers, is_saving=is_saving)

    @property
    def _numbers(self) -> list[int]:
        return sorted({int(match[1]) for name in self.data if (match := _LINE.fullmatch(name))})

    def _build_lines(self, numbers: Sequence[int], *, is_saving: bool = False) -> list[LineForm]:
        ids = [parse_form_id(self.data.get(f"line-{number}-variant", "")) for number in numbers]
        variants = _get_variants([pk for pk in ids if pk])
        return [
            LineForm(self.data, number, variants=variants, is_saving=is_saving, focus=self.focus) for number in numbers
        ]


def _get_variants(ids: Sequence[int]) -> dict[int, VariantWithImage]:
    return {row.pk: row for row in _load_details(Variant.objects.filter(pk__in=ids))}


def _find_variants(code: str) -> tuple[list[VariantWithImage], bool]:
    """Return the variants that match a code or term, and True if it is their SKU or barcode."""
    result = find_items(code)
    rows = _load_details(Variant.objects.filter(inventory_item__in=result.items))
    by_item = {row.inventory_item_id: row for row in rows}
    return [by_item[item.pk] for item in result.items if item.pk in by_item], result.has_code


def _load_details(variants: QuerySet[Variant]) -> QuerySet[VariantWithImage]:
    """Load the product and the item of each variant, and its image or the main image of its product."""
    main = ProductImage.objects.filter(product=OuterRef("product_id")).order_by("position", "id")
    return variants.select_related("product", "inventory_item").annotate(
        image_key=Coalesce(F("image__key"), main.values("key")[:1]),
        image_name=Coalesce(F("image__name"), main.values("name")[:1]),
    )


def _render_thumbnail(variant: "VariantWithImage | None") -> SafeString:
    """Return the image of a variant, or an empty square."""
    key, name = (variant.image_key or "", variant.image_name or "") if variant else ("", "")
    return thumbnail(get_current_shop().pk, key, name, side=40)
