"""Panel pages for single variants. ``variant_grid`` shows variants as rows of the product form."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import ForeignKey, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.catalog.admin.filters import LowStockFilter, PriceFilter, VariantProductFilter
from apps.catalog.admin.option_fields import get_option_labels
from apps.catalog.domain import variants
from apps.catalog.domain.inputs import VariantInput
from apps.catalog.domain.locks import lock_product, lock_stock
from apps.catalog.domain.options import COLUMNS
from apps.catalog.domain.presentment_prices import FixedPrice, build_fixed_price, get_prices_in_currency
from apps.catalog.models import ProductImage, Variant
from apps.catalog.models.variants import DEFAULT_VALUE
from apps.core.admin.display.money import MoneyField
from apps.core.admin.forms.forms import PanelForm, ShopOwnedForm, Values
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import Context
from apps.core.admin.theme import Fieldset, ThemedTextInput, attribute_column, display
from apps.core.i18n import formats
from apps.core.money import format_plain
from apps.core.tenancy.currency_conversion import get_presentments
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.inventory.domain.incoming import find_incoming

ITEM_FIELDS = ("sku", "tracked")
COLUMN_NAMES = {field.name for field in Variant._meta.concrete_fields} - {"id", "product"}

VIEW_TRANSFERS = "inventory.view_stocktransfer"


class BaseVariantForm(ShopOwnedForm[Variant]):
    price = MoneyField(initial=0, label=gettext_lazy("Price"))
    compare_at_price = MoneyField(required=False, label=gettext_lazy("Compare-at price"))
    sku = forms.CharField(
        required=False, max_length=255, label=gettext_lazy("SKU"), widget=ThemedTextInput(attrs={"size": "12"})
    )
    tracked = forms.BooleanField(required=False, initial=True, label=gettext_lazy("Tracked"))

    class Meta:
        model = Variant
        fields: tuple[str, ...] = (*COLUMNS, "price", "compare_at_price", "barcode", "inventory_policy")

    def prepare(self) -> None:
        """Set the initial values of the item fields, and narrow the inputs because the form can be a table row."""
        if not self.instance._state.adding:
            item = self.instance.inventory_item
            self.initial.update(sku=item.sku, tracked=item.tracked)
        for name in COLUMNS:
            # The variant of a product without options has an internal default value. The form shows a blank field, and
            # the default value is kept if the field remains blank.
            if name in self.fields and getattr(self.instance, name) == DEFAULT_VALUE:
                self.initial[name] = ""
                self.fields[name].required = False
        for name in (*COLUMNS, "barcode"):
            if name in self.fields:
                self.fields[name].widget.attrs["size"] = "10"

    def get_variant_input(self) -> VariantInput:
        values = self.values_to_store
        for column in COLUMNS:
            if column in values:
                values[column] = values[column] or None
        if values.get("option1", "") is None:
            del values["option1"]
        return VariantInput(
            attrs={name: value for name, value in values.items() if name in COLUMN_NAMES},
            item={name: value for name, value in values.items() if name in ITEM_FIELDS},
            id=self.instance.pk,
        )


class VariantForm(BaseVariantForm, PanelForm[Variant]):
    class Meta(BaseVariantForm.Meta):
        # The admin adds the image field because its choices depend on the product.
        fields = (
            *COLUMNS,
            "price",
            "compare_at_price",
            "barcode",
            "weight",
            "weight_unit",
            "taxable",
            "inventory_policy",
        )

    def prepare(self) -> None:
        super().prepare()
        self.initial["weight"] = Decimal(format_plain(Decimal(self.instance.weight)))


def _build_priced_form(shop: Shop) -> type[VariantForm]:
    fields: dict[str, forms.Field] = {}
    for presentment in get_presentments(shop):
        code = presentment.currency
        for name, label in (("price", _("Price in {currency}")), ("compare", _("Compare-at price in {currency}"))):
            fields[f"{name}_{code}"] = MoneyField(currency=code, required=False, label=label.format(currency=code))
    return type("PricedVariantForm", (PricedVariantForm,), fields)


class PricedVariantForm(VariantForm):
    """Variant form with fixed prices in presentment currencies. If a price is blank, the shop price is converted."""

    def prepare(self) -> None:
        super().prepare()
        for presentment in get_presentments(get_current_shop()):
            code = presentment.currency
            fixed_price = (self.instance.fixed_prices or {}).get(code, {})
            for name, key in ((f"price_{code}", "price"), (f"compare_{code}", "compare_at_price")):
                amount = getattr(self.instance, key)
                if name in self.fields and fixed_price.get(key) is not None:
                    self.initial[name] = Decimal(fixed_price[key])
                converted = None if amount is None else presentment.price(amount)
                if name in self.fields and converted is not None:
                    amount_text = formats.format_amount(converted, code)
                    text = _("Leave blank to use the converted price of {amount}.").format(amount=amount_text)
                    self.fields[name].help_text = text if key == "price" else ""

    def clean(self) -> Values | None:
        cleaned = super().clean() or {}
        for presentment in get_presentments(get_current_shop()):
            code = presentment.currency
            if cleaned.get(f"compare_{code}") is not None and cleaned.get(f"price_{code}") is None:
                self.add_error(f"price_{code}", _("Enter a price if you enter a compare-at price."))
        return cleaned

    def get_variant_input(self) -> VariantInput:
        variant = super().get_variant_input()
        changes: dict[str, FixedPrice | None] = {}
        for presentment in get_presentments(get_current_shop()):
            code = presentment.currency
            names = (f"price_{code}", f"compare_{code}")
            if not set(names) & set(self.changed_data):
                continue
            price, compare_at = (self.cleaned_data.get(name) for name in names)
            changes[code] = None if price is None else build_fixed_price(price, compare_at, code)
        if changes:
            variant.attrs["fixed_prices"] = changes
        return variant


@admin.register(Variant)
class VariantAdmin(ShopOwnedAdmin[Variant]):
    menu = MenuItem("Products", "style", 15)
    search_terms = pgettext_lazy(
        "search",
        "sku, barcode, ean, gtin, size, colour, color, option, price, cost, compare-at price, sale price, markdown",
    )
    intro = gettext_lazy(
        "All variants of your products. Select variants, or filter the list, to change prices in bulk."
    )
    form = VariantForm
    change_form_template = "panel/catalog/variant.html"
    numeric_columns = ("compared", "cost")
    list_display = ("product_title", "own_title", "sku", "price_shown", "inventory_quantity")
    optional_columns = ("scanned", "compared", "cost", "vendor", "tracked")
    mobile_hide_labels = ("vendor",)
    list_display_links = ("product_title", "own_title")
    list_select_related = ("product", "inventory_item")
    list_filter = ("inventory_policy", "taxable", VariantProductFilter, PriceFilter, LowStockFilter)
    search_fields = ("inventory_item__sku__istartswith", "barcode__exact", "title_key__startswith")
    palette_order = 40
    ordering = ("product_id", "position", "id")
    # Other columns are not sortable, because no index covers variant titles and quantities.
    sortable_by = ("product_title", "price_shown")
    empty_text = gettext_lazy("No variants yet. Add a product to create its first variant.")
    fieldsets = (
        (None, {"fields": (COLUMNS, ("price", "compare_at_price"), ("sku", "barcode"), "image")}),
        (gettext_lazy("Inventory"), {"fields": ("tracked", "inventory_policy")}),
        (gettext_lazy("Shipping and tax"), {"fields": (("weight", "weight_unit"), "taxable")}),
    )

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """Show the incoming stock of the variant above the form."""
        variant = self.get_object(request, object_id) if has_permission(request, VIEW_TRANSFERS) else None
        item_id = variant.inventory_item_id if variant else None
        incoming = find_incoming([item_id]).get(item_id) if item_id else None
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "incoming": incoming})

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False because variants are created on the product page."""
        return False

    def get_form(
        self, request: HttpRequest, obj: Variant | None = None, change: bool = False, **kwargs: Any
    ) -> type[forms.ModelForm[Variant]]:
        defaults = {
            "form": _build_priced_form(self.shop(request)),
            "labels": get_option_labels(obj.product if obj else None),
        }
        return super().get_form(request, obj, change, **{**defaults, **kwargs})

    def get_fieldsets(self, request: HttpRequest, obj: Variant | None = None) -> Any:
        """Add a row per presentment currency. Read-only pages show the resulting prices and hide empty options."""
        rows: list[Any] = [
            (f"price_{presentment.currency}", f"compare_{presentment.currency}")
            for presentment in get_presentments(self.shop(request))
        ]
        first: Fieldset
        remaining: list[Fieldset]
        first, *remaining = self.fieldsets
        if not self.has_change_permission(request, obj):
            columns = tuple(get_option_labels(obj.product if obj else None))
            first = (None, {"fields": (*filter(None, (columns,)), *first[1]["fields"][1:])})
            rows = ["other_prices"] if rows else []
        if rows:
            remaining.insert(0, (_("Prices in other currencies"), {"fields": tuple(rows)}))
        return (first, *remaining)

    @display(description=gettext_lazy("In other currencies"))
    def other_prices(self, variant: Variant) -> str:
        """Return the presentment prices as a string. Only shown to staff who may view but not change variants."""
        tags = {
            presentment.currency: get_prices_in_currency(
                presentment, variant.price, variant.compare_at_price, variant.fixed_prices
            )
            for presentment in get_presentments(get_current_shop())
        }
        return ", ".join(formats.format_money(tag[0], code) for code, tag in tags.items() if tag)

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> forms.ModelChoiceField[Any] | None:
        if db_field.name == "image":
            match = request.resolver_match
            pk = match.kwargs.get("object_id") if match else None
            variant = Variant.rows().filter(pk=pk).first() if pk is not None and str(pk).isdecimal() else None
            images = ProductImage.rows().filter(product=variant.product_id if variant else None)
            kwargs["queryset"] = images.order_by("position", "id")
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Variant]:
        # Also filter by the product's shop, because product indexes begin with the shop column.
        variants = super().get_queryset(request).filter(product__shop=self.shop(request))
        return variants.select_related(*self.list_select_related)

    def palette_titles(self, rows: Sequence[Variant]) -> Mapping[int, str]:
        return {row.pk: row.full_name for row in rows}

    def palette_details(self, instance: Variant) -> Sequence[str]:
        return [instance.inventory_item.sku] if instance.inventory_item.sku else []

    @display(description=gettext_lazy("Title"), empty_value="–")
    def own_title(self, variant: Variant) -> str | None:
        return None if variant.is_default else variant.title

    product_title = attribute_column("product.title", gettext_lazy("Product"), ordering="product__title_key")
    sku = attribute_column("inventory_item.sku", gettext_lazy("SKU"))
    tracked = attribute_column("inventory_item.tracked", gettext_lazy("Tracked"), boolean=True)
    scanned = attribute_column("barcode", gettext_lazy("Barcode"), empty_value="–")
    vendor = attribute_column("product.vendor", gettext_lazy("Vendor"))

    @display(description=gettext_lazy("Price"), ordering="price")
    def price_shown(self, variant: Variant) -> str:
        return formats.format_amount(variant.price, get_current_shop().currency)

    @display(description=gettext_lazy("Compare-at price"), empty_value="–")
    def compared(self, variant: Variant) -> str | None:
        price = variant.compare_at_price
        return None if price is None else formats.format_amount(price, get_current_shop().currency)

    @display(description=gettext_lazy("Cost"), empty_value="–")
    def cost(self, variant: Variant) -> str | None:
        cost = variant.inventory_item.cost
        return None if cost is None else formats.format_amount(cost, get_current_shop().currency)

    def lock_row(self, instance: Variant) -> None:
        """Lock the variant's stock, then the product. The product lock protects all variants of the product."""
        lock_stock(variant_ids=[instance.pk], deleting=True)
        lock_product(instance.product_id)

    def save_model(self, request: HttpRequest, obj: Variant, form: VariantForm, change: bool) -> None:
        variant_input = form.get_variant_input()
        if "image" in variant_input.attrs:
            image = variant_input.attrs.pop("image")
            variant_input.attrs["image_id"] = image.pk if image else None
        variants.update_variant(Variant.objects.get(pk=obj.pk), variant_input, **self.event_kwargs(request))

    def delete_model(self, request: HttpRequest, obj: Variant) -> None:
        variants.delete_variant(obj, **self.event_kwargs(request))

    def response_post_save_change(self, request: HttpRequest, obj: Variant) -> HttpResponseRedirect:
        return HttpResponseRedirect(reverse("admin:catalog_product_change", args=(obj.product_id,)))
