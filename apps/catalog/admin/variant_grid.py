"""Variant grid of the product form: one inline row per variant, including stock and image."""

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

from apps.catalog.admin.images import get_thumbnail_url, thumbnail
from apps.catalog.admin.option_fields import get_option_labels
from apps.catalog.admin.uploads import SIDE, StagedImage
from apps.catalog.admin.variants import VIEW_TRANSFERS, BaseVariantForm
from apps.catalog.domain.inputs import OptionInput, VariantInput
from apps.catalog.domain.options import COLUMNS, OptionsRefused, match_options
from apps.catalog.domain.variants import Combination, LastVariant, list_new_combinations
from apps.catalog.models import Product, ProductImage, ProductOption, Variant
from apps.catalog.models.variants import DEFAULT_VALUE
from apps.core.admin.display.money import MoneyField
from apps.core.admin.forms.forms import ShopOwnedTabularInline, Values
from apps.core.admin.permissions import has_permission
from apps.core.admin.theme import ThemedSelect, ThemedTextInput, attribute_column, display
from apps.core.types import Attrs
from apps.inventory.domain.incoming import IncomingStock, find_incoming
from apps.inventory.domain.stock import get_primary_location
from apps.inventory.domain.stock_grid import Cell
from apps.inventory.models import MAX_AVAILABLE, InventoryLevel, Location

# Products with more variants have no grid, because browsers and servers limit the size of a form.
MAX_GRID_ROWS = 100
# The maximum number of locations in the grid. Stock at other locations is edited on the inventory page.
MAX_GRID_LOCATIONS = 6
CHANGE_STOCK = "inventory.change_inventoryitem"
# The fields of a row. The template inserts the stock fields after the barcode.
GRID_FIELDS = (
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
# Fields that new variants copy from the first variant.
_COPIED_FIELDS = ("price", "compare_at_price", "inventory_policy", "taxable")
_COPIED_ITEM_FIELDS = ("cost", "tracked")


@dataclass(frozen=True, slots=True)
class VariantGridData:
    """The locations, stock levels and images that the variant rows of a product form use.

    Attributes:
        locations: The locations that have stock fields in the rows.
        primary: The id of the location where new variants are stocked.
        levels: The available quantities, keyed by item id and location id.
        incoming: The stock in transit, keyed by item id.
    """

    locations: Sequence[Location] = ()
    hidden_location_count: int = 0
    primary: int = 0
    levels: Mapping[tuple[int, int], int] = field(default_factory=dict)
    images: Sequence[ProductImage] = ()
    staged_images: Sequence[StagedImage] = ()
    incoming: Mapping[int, Sequence[IncomingStock]] = field(default_factory=dict)

    @classmethod
    def load(
        cls, product: Product | None, waiting: Sequence[StagedImage], *, with_stock: bool, with_incoming: bool
    ) -> "VariantGridData":
        images = list(ProductImage.rows().filter(product=product).order_by("position", "id")) if product else []
        incoming: Mapping[int, Sequence[IncomingStock]] = {}
        if product and with_incoming:
            incoming = find_incoming(
                Variant.objects.filter(product=product).order_by().values_list("inventory_item_id", flat=True)
            )
        if not with_stock:
            return cls(images=images, staged_images=waiting, incoming=incoming)
        locations = list(Location.rows().filter(active=True, legacy=False).order_by("id"))
        primary = get_primary_location().pk
        locations.sort(key=lambda location: location.pk != primary)
        shown_locations = locations[:MAX_GRID_LOCATIONS]
        levels: dict[tuple[int, int], int] = {}
        if product is not None:
            rows = InventoryLevel.rows().filter(item__variant__product=product, location__in=shown_locations)
            levels = {
                (item, location): n for item, location, n in rows.values_list("item_id", "location_id", "available")
            }
        return cls(shown_locations, len(locations) - len(shown_locations), primary, levels, images, waiting, incoming)

    @property
    def image_choices(self) -> list[tuple[str, str]]:
        saved = [(str(row.pk), row.alt or row.name) for row in self.images]
        new = [(staged.choice, staged.alt or staged.image.name) for staged in self.staged_images]
        numbered = _("Image {number}, {name}")
        images = enumerate([*saved, *new], start=1)
        return [
            ("", _("No image")),
            *((choice, numbered.format(number=number, name=name)) for number, (choice, name) in images),
        ]

    @property
    def thumbnail_urls(self) -> list[tuple[str, str]]:
        """Return pairs of an image choice and its thumbnail URL."""
        saved = [(str(row.pk), get_thumbnail_url(row.shop_id, row.key, row.name, SIDE)) for row in self.images]
        return [*saved, *((staged.choice, staged.thumbnail_url) for staged in self.staged_images)]


class VariantRow(BaseVariantForm):
    cost = MoneyField(required=False, label=gettext_lazy("Cost"))
    picture = forms.ChoiceField(required=False, label=gettext_lazy("Image"), widget=ThemedSelect)
    place = forms.IntegerField(required=False, label=gettext_lazy("Position"), widget=forms.HiddenInput)

    grid_data = VariantGridData()

    def prepare(self) -> None:
        super().prepare()
        variant = self.instance
        is_saved = not variant._state.adding
        if is_saved:
            self.initial.update(cost=variant.inventory_item.cost, place=variant.position)
            self.initial["picture"] = str(variant.image_id or "")
        self.set_choices("picture", self.grid_data.image_choices)
        for location in self.grid_data.locations:
            name = f"stock_{location.pk}"
            level = self.grid_data.levels.get((variant.inventory_item_id, location.pk)) if is_saved else None
            self.fields[name] = _create_stock_field(location)
            self.initial[name] = 0 if not is_saved and location.pk == self.grid_data.primary else level
        for name, form_field in self.fields.items():
            form_field.widget.attrs["aria-label"] = str(form_field.label or pretty_name(name))
            form_field.widget.attrs["data-cell"] = name

    @property
    def values_to_store(self) -> Values:
        """Return the submitted values. Omit the cost and image if the submitted form lacks these fields."""
        return {
            name: value
            for name, value in super().values_to_store.items()
            if name not in {"cost", "picture"} or self.add_prefix(name) in self.data
        }

    @property
    def stock_cells(self) -> list[forms.BoundField]:
        return [self[f"stock_{location.pk}"] for location in self.grid_data.locations]

    @property
    def available(self) -> int | None:
        """Return the available quantity at all locations, or None if the variant is new or not tracked."""
        variant = self.instance
        return variant.inventory_quantity if variant.pk and variant.inventory_item.tracked else None

    @property
    def incoming(self) -> Sequence[IncomingStock]:
        return self.grid_data.incoming.get(self.instance.inventory_item_id, ()) if self.instance.pk else ()

    def get_variant_input(self) -> VariantInput:
        variant = super().get_variant_input()
        values = self.values_to_store
        if "cost" in values:
            variant.item["cost"] = values["cost"]
        if "picture" in values:
            choice = values["picture"]
            staged_images = {staged.choice: staged.image for staged in self.grid_data.staged_images}
            variant.image = staged_images.get(choice)
            if variant.image is None:
                variant.attrs["image_id"] = int(choice) if choice else None
        return variant

    def clean(self) -> Values | None:
        """Reject a negative quantity, unless the variant is oversold and the quantity did not change."""
        cleaned = super().clean()
        for location in self.grid_data.locations:
            name = f"stock_{location.pk}"
            if (self.cleaned_data.get(name) or 0) < 0 and name in self.changed_data:
                self.add_error(name, _("Enter a number from 0 to {limit}.").format(limit=MAX_AVAILABLE))
        return cleaned

    def get_stock_cells(self) -> dict[int, Cell]:
        """Return the changed quantities, keyed by location id, each with the quantity that the page showed."""
        changed_cells = {}
        for location in self.grid_data.locations:
            name = f"stock_{location.pk}"
            number = self.cleaned_data.get(name)
            rendered: int | None = self.initial[name]
            if not self.instance._state.adding:
                text = self.data.get(self.add_initial_prefix(name), "").strip()
                rendered = int(text) if text.lstrip("-").isdecimal() and len(text) < 12 else None
            if number is not None and number != rendered:
                changed_cells[location.pk] = Cell(rendered, number)
        return changed_cells


class VariantFormSet(BaseInlineFormSet[Variant, Product, forms.ModelForm[Variant]]):
    """Formset of a product's variants. The product admin saves the variants together with the product."""

    grid_data = VariantGridData()
    stock_rows: Sequence[VariantRow] = ()

    @property
    def rows(self) -> list[VariantRow]:
        """Return the rows that are not marked for deletion, sorted by position."""
        deleted_forms = set(self.deleted_forms)
        adding = self.instance._state.adding
        remaining = [
            cast("VariantRow", form)
            for form in self.forms
            if form not in deleted_forms and (form.instance.pk or adding or form.has_changed())
        ]
        positions = {id(form): form.cleaned_data.get("place") for form in remaining}
        return sorted(remaining, key=lambda form: (positions[id(form)] is None, positions[id(form)] or 0))

    def get_variant_inputs(
        self, options: Sequence[OptionInput] | None, existing: Sequence[ProductOption]
    ) -> list[VariantInput] | None:
        """Return the variants of the rows and of new option values, or None if nothing changed.

        ``options`` is None if the options did not change.

        Raises:
            LastVariant: No row remains.
            OptionsRefused: A removed value is still used by a variant.
        """
        rows = self.stock_rows = self.rows
        if self.initial_forms and not rows:
            raise LastVariant(_("The last variant of a product cannot be deleted."))
        inputs = [row.get_variant_input() for row in rows]
        new = [] if options is None else _generate_variants(rows, inputs, options, existing)
        if not self.has_changed() and not new and not self.instance._state.adding:
            return None
        return [*inputs, *new] or None


class VariantInline(ShopOwnedTabularInline[Variant, Product]):
    model = Variant
    form = VariantRow
    formset = VariantFormSet
    ordering = ("position", "id")
    template = "panel/catalog/variant_grid.html"
    show_change_link = True
    tab = False
    max_num = MAX_GRID_ROWS

    def get_min_num(self, request: HttpRequest, obj: Product | None = None, **kwargs: Any) -> int:
        """Return 1 for a new product, so that its form starts with one variant row."""
        return 0 if obj else 1

    def get_formset(
        self, request: HttpRequest, obj: Product | None = None, **kwargs: Any
    ) -> type[BaseInlineFormSet[Variant, Product, forms.ModelForm[Variant]]]:
        waiting = getattr(request, "staged_images", [])
        grid_data = VariantGridData.load(
            obj,
            waiting,
            with_stock=has_permission(request, CHANGE_STOCK),
            with_incoming=has_permission(request, VIEW_TRANSFERS),
        )
        row = type("Row", (VariantRow,), {"grid_data": grid_data})
        formset_class = super().get_formset(request, obj, **{"form": row, "labels": get_option_labels(obj), **kwargs})
        formset_class.grid_data = grid_data  # type: ignore[attr-defined]
        return formset_class

    def get_fields(self, request: HttpRequest, obj: Product | None = None) -> list[Any]:
        if obj is None or self.has_change_permission(request, obj):
            return [*GRID_FIELDS]
        named_options = get_option_labels(obj)
        return [name for name in GRID_FIELDS if name in named_options or name not in COLUMNS]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Variant]:
        """Load each variant with its item, image and product. A default variant is named after its product."""
        return Variant.rows().select_related("inventory_item", "product", "image").order_by(*self.ordering)

    # The grid shows these values only to staff who may view but not change products.

    sku = attribute_column("inventory_item.sku", gettext_lazy("SKU"))
    tracked = attribute_column("inventory_item.tracked", gettext_lazy("Tracked"), boolean=True)
    cost = attribute_column("inventory_item.cost", gettext_lazy("Cost"))
    place = attribute_column("position", gettext_lazy("Position"))

    @display(description=gettext_lazy("Image"))
    def picture(self, variant: Variant) -> SafeString:
        image = variant.image
        return thumbnail(variant.shop_id, image.key if image else "", image.name if image else "")


def _generate_variants(
    rows: Sequence[VariantRow],
    inputs: Sequence[VariantInput],
    options: Sequence[OptionInput],
    existing: Sequence[ProductOption],
) -> list[VariantInput]:
    """Return the variants to add for new option values, and set the first value of new options in existing rows."""
    partners = match_options(existing, options)
    indexes = {option.pk: index for index, option in enumerate(existing)}
    sources = [indexes[option.pk] if option else None for option in partners]
    current_values = [set(option.values) - {DEFAULT_VALUE} if option else set() for option in partners]
    present: list[Combination] = []
    for row, variant in zip(rows, inputs, strict=True):
        values = _get_option_values(row, sources)
        for index, (option, value) in enumerate(zip(options, values, strict=True)):
            if value in current_values[index] and option.values and value not in option.values:
                variant_name = row.instance.title if row.instance.pk else " / ".join(values)
                message = _("The variant {name} still uses “{value}”. Remove the variant as well, or keep the value.")
                raise OptionsRefused(message.format(value=value, name=variant_name), field="base")
            if not value and option.values:
                variant.attrs[COLUMNS[index]] = values[index] = option.values[0]
        present.append(tuple(values))
    new_values = [
        set(option.values) - current_values[index] - {row[index] for row in present}
        for index, option in enumerate(options)
    ]
    attrs, item = _get_copied_values(rows)
    return [
        VariantInput(attrs={**attrs, **dict(zip(COLUMNS, values, strict=False))}, item=dict(item))
        for values in list_new_combinations(options, present, new_values)
    ]


def _get_option_values(row: VariantRow, sources: Sequence[int | None]) -> list[str]:
    """Return the row's value for each requested option, or an empty string if the row has no value for the option."""
    if row.instance.pk and not set(COLUMNS) & set(row.changed_data):
        saved = [getattr(row.instance, column) for column in COLUMNS]
        values = [None if source is None else saved[source] for source in sources]
    else:
        values = [row.cleaned_data.get(column) for column in COLUMNS[: len(sources)]]
    return ["" if value in {None, DEFAULT_VALUE} else str(value) for value in values]


def _get_copied_values(rows: Sequence[VariantRow]) -> tuple[Attrs, Attrs]:
    data = rows[0].cleaned_data if rows else {}
    attrs = {name: data[name] for name in _COPIED_FIELDS if name in data}
    item = {name: data[name] for name in _COPIED_ITEM_FIELDS if name in data}
    return attrs, item


def _create_stock_field(location: Location) -> forms.IntegerField:
    widget = ThemedTextInput(attrs={"inputmode": "numeric", "size": "6"})
    return forms.IntegerField(
        required=False,
        max_value=MAX_AVAILABLE,
        label=_("Available at {place}").format(place=location.name),
        widget=widget,
        show_hidden_initial=True,
    )


def get_stock_cells_by_item(rows: Iterable[VariantRow], items: Sequence[int]) -> dict[tuple[int, int], Cell]:
    """Return the changed stock quantities of the rows, keyed by item id and location id.

    ``items`` contains the ids of the items in the order of the rows. Additional ids at the end are ignored.
    """
    pairs = zip(rows, items, strict=False)
    return {(item, location_id): cell for row, item in pairs for location_id, cell in row.get_stock_cells().items()}
