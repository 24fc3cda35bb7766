"""The variants of a product as a sheet within its form: one row each, also with its stock and its picture."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from django import forms
from django.db.models import QuerySet
from django.forms.models import BaseInlineFormSet
from django.forms.utils import pretty_name
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.catalog.admin.option_fields import named_columns
from apps.catalog.admin.thumbnails import thumbnail
from apps.catalog.admin.uploads import SIDE, Waiting
from apps.catalog.admin.variants import VariantFields
from apps.catalog.domain.combinations import Combination, added_by
from apps.catalog.domain.inputs import OptionInput, VariantInput
from apps.catalog.domain.options import COLUMNS, OptionsRefused, matched
from apps.catalog.domain.pictures import local_address_of
from apps.catalog.domain.variants import LastVariant
from apps.catalog.models import Product, ProductImage, ProductOption, Variant
from apps.catalog.models.variants import DEFAULT_VALUE
from apps.ground.attrs import Attrs
from apps.inventory.domain.grid import Cell
from apps.inventory.domain.stock import primary_location
from apps.inventory.models import MAX_AVAILABLE, InventoryLevel, Location
from apps.panel.access import may
from apps.panel.money import MoneyField
from apps.panel.screens.forms import Values
from apps.panel.screens.inlines import ShopOwnedTabularInline
from apps.panel.theme import ThemedSelect, ThemedTextInput, display

# Beyond as many, the rows would be more than one form can carry.
MOST_ROWS = 100
# Further locations are counted in the grid of the stock.
MOST_PLACES = 6
CHANGE_STOCK = "inventory.change_inventoryitem"
# Behind the barcode stands the stock at each location.
SHEET_FIELDS = (
    *COLUMNS,
    "picture",
    "price",
    "compare_at_price",
    "cost",
    "sku",
    "barcode",
    "tracked",
    "inventory_policy",
    "place",
)
# What new variants take over from the first one.
_SHARED = ("price", "compare_at_price", "inventory_policy", "taxable")
_SHARED_ITEM = ("cost", "tracked")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the rows of a product's form may choose from, and what is stocked.

    Attributes:
        places: The locations whose stock the rows show.
        further: How many locations there are beside them.
        primary: Where new variants are stocked.
        levels: What is available, by item and location.
        images: The product's stored images.
        waiting: Those that the form brings.
    """

    places: Sequence[Location] = ()
    further: int = 0
    primary: int = 0
    levels: Mapping[tuple[int, int], int] = field(default_factory=dict)
    images: Sequence[ProductImage] = ()
    waiting: Sequence[Waiting] = ()

    @classmethod
    def of(cls, product: Product | None, waiting: Sequence[Waiting], *, with_stock: bool) -> "Surroundings":
        """Those of a stored product, or of a new one."""
        images = list(ProductImage.rows().filter(product=product).order_by("position", "id")) if product else []
        if not with_stock:
            return cls(images=images, waiting=waiting)
        places = list(Location.rows().filter(active=True, legacy=False).order_by("id"))
        primary = primary_location().pk
        places.sort(key=lambda place: place.pk != primary)
        shown = places[:MOST_PLACES]
        levels: dict[tuple[int, int], int] = {}
        if product is not None:
            rows = InventoryLevel.rows().filter(item__variant__product=product, location__in=shown)
            levels = {(item, place): n for item, place, n in rows.values_list("item_id", "location_id", "available")}
        return cls(shown, len(places) - len(shown), primary, levels, images, waiting)

    @property
    def choices(self) -> list[tuple[str, str]]:
        """The pictures that a variant can show."""
        stored = [(str(row.pk), row.alt or row.name) for row in self.images]
        new = [(one.choice, one.alt or one.picture.name) for one in self.waiting]
        numbered = _("Image {number}, {name}")
        called = [
            (choice, numbered.format(number=number, name=name))
            for number, (choice, name) in enumerate([*stored, *new], start=1)
        ]
        return [("", _("No picture")), *called]

    @property
    def shown(self) -> list[tuple[str, str]]:
        """Where the browser finds each of them, small."""
        stored = [(str(row.pk), _small(row)) for row in self.images]
        return [*stored, *((one.choice, one.address) for one in self.waiting)]


class VariantRow(VariantFields):
    """One variant as a row of the sheet."""

    cost = MoneyField(required=False, initial=0, label=gettext_lazy("Cost"))
    picture = forms.ChoiceField(required=False, label=gettext_lazy("Picture"), widget=ThemedSelect)
    place = forms.IntegerField(required=False, label=gettext_lazy("Place"), widget=forms.HiddenInput)

    surroundings = Surroundings()

    def prepare(self) -> None:
        """With the item's cost, the pictures to choose from, and a field for the stock at each location."""
        super().prepare()
        variant = self.instance
        stored = not variant._state.adding
        if stored:
            self.initial.update(cost=variant.inventory_item.cost, place=variant.position)
            self.initial["picture"] = str(variant.image_id or "")
        self.offer("picture", self.surroundings.choices)
        for place in self.surroundings.places:
            name = f"stock_{place.pk}"
            level = self.surroundings.levels.get((variant.inventory_item_id, place.pk)) if stored else None
            self.fields[name] = _stock_field(place)
            self.initial[name] = 0 if not stored and place.pk == self.surroundings.primary else level
        for name, known in self.fields.items():
            known.widget.attrs["aria-label"] = str(known.label or pretty_name(name))
            known.widget.attrs["data-cell"] = name

    @property
    def given(self) -> Values:
        """Without what a page that was opened before these fields came does not know."""
        return {
            name: value
            for name, value in super().given.items()
            if name not in {"cost", "picture"} or self.add_prefix(name) in self.data
        }

    @property
    def stock_cells(self) -> list[forms.BoundField]:
        """The fields of the stock, in the order of the locations."""
        return [self[f"stock_{place.pk}"] for place in self.surroundings.places]

    @property
    def hidden_place(self) -> forms.BoundField:
        """The field that keeps the row's place."""
        return self["place"]

    def wanted(self) -> VariantInput:
        """With its cost and its picture."""
        wanted = super().wanted()
        given = self.given
        if "cost" in given:
            wanted.item["cost"] = given["cost"] or 0
        if "picture" in given:
            chosen = given["picture"]
            new = next((one.picture for one in self.surroundings.waiting if one.choice == chosen), None)
            wanted.picture = new
            if new is None:
                wanted.attrs["image_id"] = int(chosen) if chosen else None
        return wanted

    def clean(self) -> Values | None:
        """Nobody counts fewer than none; a level that was oversold may stay."""
        cleaned = super().clean()
        for place in self.surroundings.places:
            name = f"stock_{place.pk}"
            if (self.cleaned_data.get(name) or 0) < 0 and name in self.changed_data:
                self.add_error(name, _("Enter a number from 0 to {limit}.").format(limit=MAX_AVAILABLE))
        return cleaned

    def cells(self) -> dict[int, Cell]:
        """The stock that was typed, by location; the seen numbers are those of the page."""
        found = {}
        for place in self.surroundings.places:
            name = f"stock_{place.pk}"
            number = self.cleaned_data.get(name)
            seen: int | None = self.initial[name]
            if not self.instance._state.adding:
                text = self.data.get(self.add_initial_prefix(name), "").strip()
                seen = int(text) if text.lstrip("-").isdecimal() and len(text) < 12 else None
            if number is not None and number != seen:
                found[place.pk] = Cell(seen, number)
        return found


class VariantFormSet(BaseInlineFormSet[Variant, Product, forms.ModelForm[Variant]]):
    """The variants of a product; the product's form saves them together with it."""

    surroundings = Surroundings()
    counted: Sequence[VariantRow] = ()

    @property
    def template_row(self) -> forms.ModelForm[Variant]:
        """The row that scripts copy."""
        return self.empty_form

    @property
    def rows(self) -> list[VariantRow]:
        """The rows that stay, in their order."""
        gone = set(self.deleted_forms)
        adding = self.instance._state.adding
        kept = [
            cast("VariantRow", form)
            for form in self.forms
            if form not in gone and (form.instance.pk or adding or form.has_changed())
        ]
        places = {id(form): form.cleaned_data.get("place") for form in kept}
        return sorted(kept, key=lambda form: (places[id(form)] is None, places[id(form)] or 0))

    def wanted(
        self, options: Sequence[OptionInput] | None, existing: Sequence[ProductOption]
    ) -> list[VariantInput] | None:
        """The variants as the rows and the values of the options say; None where nothing changed.

        Args:
            options: The options as they should be; None where they stay.
            existing: Those that are stored.

        Raises:
            LastVariant: No row stays.
            OptionsRefused: A value was taken away that a variant has.
        """
        rows = self.counted = self.rows
        if self.initial_forms and not rows:
            raise LastVariant(_("The last variant of a product cannot be deleted."))
        inputs = [row.wanted() for row in rows]
        new = [] if options is None else _generated(rows, inputs, options, existing)
        if not self.has_changed() and not new and not self.instance._state.adding:
            return None
        return [*inputs, *new] or None


class VariantInline(ShopOwnedTabularInline[Variant, Product]):
    """The variants of a product that has not too many."""

    model = Variant
    form = VariantRow
    formset = VariantFormSet
    ordering = ("position", "id")
    template = "panel/catalog/sheet.html"
    show_change_link = True
    tab = False
    max_num = MOST_ROWS

    def get_min_num(self, request: HttpRequest, obj: Product | None = None, **kwargs: Any) -> int:
        """A new product begins with one row."""
        return 0 if obj else 1

    def get_formset(
        self, request: HttpRequest, obj: Product | None = None, **kwargs: Any
    ) -> type[BaseInlineFormSet[Variant, Product, forms.ModelForm[Variant]]]:
        """The rows know what they may choose from."""
        waiting = getattr(request, "pictures_brought", [])
        surroundings = Surroundings.of(obj, waiting, with_stock=may(request, CHANGE_STOCK))
        row = type("Row", (VariantRow,), {"surroundings": surroundings})
        made = super().get_formset(request, obj, **{"form": row, "labels": named_columns(obj), **kwargs})
        made.surroundings = surroundings  # type: ignore[attr-defined]
        return made

    def get_fields(self, request: HttpRequest, obj: Product | None = None) -> list[Any]:
        """Those of the sheet; who may only look sees no empty options."""
        if obj is None or self.has_change_permission(request, obj):
            return [*SHEET_FIELDS]
        named = named_columns(obj)
        return [name for name in SHEET_FIELDS if name in named or name not in COLUMNS]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Variant]:
        """With their items, and the product, after which the only one is called."""
        return Variant.rows().select_related("inventory_item", "product", "image").order_by(*self.ordering)

    @display(description=gettext_lazy("SKU"))
    def sku(self, variant: Variant) -> str:
        """For those who may only look."""
        return variant.inventory_item.sku

    @display(description=gettext_lazy("Counted"), boolean=True)
    def tracked(self, variant: Variant) -> bool:
        """For those who may only look."""
        return variant.inventory_item.tracked

    @display(description=gettext_lazy("Cost"))
    def cost(self, variant: Variant) -> object:
        """For those who may only look."""
        return variant.inventory_item.cost

    @display(description=gettext_lazy("Picture"))
    def picture(self, variant: Variant) -> SafeString:
        """For those who may only look."""
        image = variant.image
        return thumbnail(variant.shop_id, image.key if image else "", image.name if image else "")

    @display(description=gettext_lazy("Place"))
    def place(self, variant: Variant) -> int:
        """For those who may only look."""
        return variant.position


def _generated(
    rows: Sequence[VariantRow],
    inputs: Sequence[VariantInput],
    options: Sequence[OptionInput],
    existing: Sequence[ProductOption],
) -> list[VariantInput]:
    """The variants that new values add; the others get their first value of options that they did not have."""
    partners = matched(existing, options)
    places = {option.pk: place for place, option in enumerate(existing)}
    sources = [places[option.pk] if option else None for option in partners]
    known = [set(option.values) - {DEFAULT_VALUE} if option else set() for option in partners]
    present: list[Combination] = []
    for row, given in zip(rows, inputs, strict=True):
        values = _values_of(row, sources)
        for place, (option, value) in enumerate(zip(options, values, strict=True)):
            if value in known[place] and option.values and value not in option.values:
                called = row.instance.title if row.instance.pk else " / ".join(values)
                said = _("“{value}” is still used by the variant {name}. Remove the variant too, or keep the value.")
                raise OptionsRefused(said.format(value=value, name=called), field="base")
            if not value and option.values:
                given.attrs[COLUMNS[place]] = values[place] = option.values[0]
        present.append(tuple(values))
    fresh = [
        set(option.values) - known[place] - {row[place] for row in present} for place, option in enumerate(options)
    ]
    first = next(iter(inputs), None)
    attrs, item = _of_first(rows, first)
    return [
        VariantInput(attrs={**attrs, **dict(zip(COLUMNS, values, strict=False))}, item=dict(item))
        for values in added_by(options, present, fresh)
    ]


def _values_of(row: VariantRow, sources: Sequence[int | None]) -> list[str]:
    """The row's values of the wanted options; empty where it has none yet."""
    if row.instance.pk and not set(COLUMNS) & set(row.changed_data):
        own = [getattr(row.instance, column) for column in COLUMNS]
        values = [None if source is None else own[source] for source in sources]
    else:
        values = [row.cleaned_data.get(column) for column in COLUMNS[: len(sources)]]
    return ["" if value in {None, DEFAULT_VALUE} else str(value) for value in values]


def _of_first(rows: Sequence[VariantRow], first: VariantInput | None) -> tuple[Attrs, Attrs]:
    if first is None:
        return {}, {}
    data = rows[0].cleaned_data
    attrs = {name: data[name] for name in _SHARED if name in data}
    item = {name: data[name] or 0 if name == "cost" else data[name] for name in _SHARED_ITEM if name in data}
    return attrs, item


def _stock_field(place: Location) -> forms.IntegerField:
    widget = ThemedTextInput(attrs={"inputmode": "numeric", "size": "6"})
    return forms.IntegerField(
        required=False,
        max_value=MAX_AVAILABLE,
        label=_("Stock at {place}").format(place=place.name),
        widget=widget,
        show_hidden_initial=True,
    )


def _small(row: ProductImage) -> str:
    stem, _, extension = row.name.rpartition(".")
    return local_address_of(row.shop_id, row.key, f"{stem}_{SIDE}x{SIDE}.{extension}")


def cells_of(rows: Iterable[VariantRow], items: Sequence[int]) -> dict[tuple[int, int], Cell]:
    """The stock that was typed into rows, by item and location.

    Args:
        rows: The rows, in their order.
        items: The inventory items of the stored variants, in the same order; further ones may follow.
    """
    pairs = zip(rows, items, strict=False)
    return {(item, place): cell for row, item in pairs for place, cell in row.cells().items()}
