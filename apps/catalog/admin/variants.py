"""Variants as staff see them one by one; ``sheet`` shows them as rows of their product's form."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import ForeignKey, QuerySet
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.catalog.admin.filters import LowStockFilter, PriceFilter, VariantProductFilter
from apps.catalog.admin.option_fields import named_columns
from apps.catalog.domain import variants
from apps.catalog.domain.inputs import VariantInput
from apps.catalog.domain.locks import lock_product, lock_stock
from apps.catalog.domain.options import COLUMNS
from apps.catalog.domain.price_tags import Fixed, fixed, tag_in
from apps.catalog.models import ProductImage, Variant
from apps.catalog.models.variants import DEFAULT_VALUE
from apps.ground import languages
from apps.ground.money import plain
from apps.ground.tenancy import current_shop
from apps.panel.menu import Menu
from apps.panel.money import MoneyField
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.screens.forms import PanelForm, ShopOwnedForm, Values
from apps.panel.theme import Fieldset, ThemedTextInput, display
from apps.shops.domain.presentment import presentments_of
from apps.shops.models import Shop

ITEM_FIELDS = ("sku", "tracked")
COLUMN_NAMES = {field.name for field in Variant._meta.concrete_fields} - {"id", "product"}
ROW_FIELDS = (*COLUMNS, "price", "compare_at_price", "sku", "tracked", "barcode", "inventory_policy")


class VariantFields(ShopOwnedForm[Variant]):
    """What both forms of a variant have: its columns, and those of its inventory item."""

    price = MoneyField(initial=0, label=gettext_lazy("Price"))
    compare_at_price = MoneyField(required=False, label=gettext_lazy("Compare at"))
    sku = forms.CharField(
        required=False, max_length=255, label=gettext_lazy("SKU"), widget=ThemedTextInput(attrs={"size": "12"})
    )
    tracked = forms.BooleanField(required=False, initial=True, label=gettext_lazy("Counted"))

    class Meta:
        model = Variant
        fields = tuple(name for name in ROW_FIELDS if name not in ITEM_FIELDS)

    def prepare(self) -> None:
        """The item's columns, and narrow fields: the form is a row of a table."""
        if not self.instance._state.adding:
            item = self.instance.inventory_item
            self.initial.update(sku=item.sku, tracked=item.tracked)
        for name in COLUMNS:
            # The value of a product without options is the interface's, and nothing to people; blank keeps it.
            if name in self.fields and getattr(self.instance, name) == DEFAULT_VALUE:
                self.initial[name] = ""
                self.fields[name].required = False
        for name in (*COLUMNS, "barcode"):
            if name in self.fields:
                self.fields[name].widget.attrs["size"] = "10"

    def wanted(self) -> VariantInput:
        """The variant as the form says it should be."""
        given = self.given
        for column in COLUMNS:
            if column in given:
                given[column] = given[column] or None
        if given.get("option1", "") is None:
            del given["option1"]
        return VariantInput(
            attrs={name: value for name, value in given.items() if name in COLUMN_NAMES},
            item={name: value for name, value in given.items() if name in ITEM_FIELDS},
            id=self.instance.pk,
        )


class VariantForm(VariantFields, PanelForm[Variant]):
    """One variant, with its picture and its weight in any unit."""

    class Meta(VariantFields.Meta):
        # The picture is left to the screen, which knows the product: relations are looked up inside a shop only.
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
        """The weight, without zeros at the end of its decimals."""
        super().prepare()
        self.initial["weight"] = Decimal(plain(Decimal(self.instance.weight)))


def _priced(shop: Shop) -> type[VariantForm]:
    """The form of one variant, with a pair of amounts for each further currency of the shop."""
    fields: dict[str, forms.Field] = {}
    for each in presentments_of(shop):
        code = each.currency
        fields[f"price_{code}"] = MoneyField(
            currency=code, required=False, label=_("Price in {currency}").format(currency=code)
        )
        fields[f"compare_{code}"] = MoneyField(
            currency=code, required=False, label=_("Compare at in {currency}").format(currency=code)
        )
    return type("PricedVariantForm", (PricedVariantForm,), fields)


class PricedVariantForm(VariantForm):
    """With the prices that were fixed in further currencies; what is blank is converted."""

    def prepare(self) -> None:
        """The fixed prices, and beside them what conversion makes."""
        super().prepare()
        for each in presentments_of(current_shop()):
            code = each.currency
            kept = (self.instance.fixed_prices or {}).get(code, {})
            for name, key, amount in (
                (f"price_{code}", "price", self.instance.price),
                (f"compare_{code}", "compare_at_price", self.instance.compare_at_price),
            ):
                if name in self.fields and kept.get(key) is not None:
                    self.initial[name] = Decimal(kept[key])
                converted = None if amount is None else each.price(amount)
                if name in self.fields and converted is not None:
                    shown = languages.amount(converted, code)
                    text = _("Blank for {amount}, converted.").format(amount=shown)
                    self.fields[name].help_text = text if key == "price" else ""

    def clean(self) -> Values | None:
        """A price to compare with stands beside a price."""
        cleaned = super().clean() or {}
        for each in presentments_of(current_shop()):
            code = each.currency
            if cleaned.get(f"compare_{code}") is not None and cleaned.get(f"price_{code}") is None:
                self.add_error(f"price_{code}", _("Enter the price that it is compared with."))
        return cleaned

    def wanted(self) -> VariantInput:
        """With the changes of fixed prices."""
        wanted = super().wanted()
        changes: dict[str, Fixed | None] = {}
        for each in presentments_of(current_shop()):
            code = each.currency
            names = (f"price_{code}", f"compare_{code}")
            if not set(names) & set(self.changed_data):
                continue
            price, compare_at = (self.cleaned_data.get(name) for name in names)
            changes[code] = None if price is None else fixed(price, compare_at, code)
        if changes:
            wanted.attrs["fixed_prices"] = changes
        return wanted


@admin.register(Variant)
class VariantAdmin(ShopOwnedAdmin[Variant]):
    """Variants one by one; they are made on the page of their product."""

    menu = Menu(
        "Catalog",
        "style",
        15,
        words=pgettext_lazy(
            "search",
            "sku, barcode, ean, gtin, size, colour, color, option, price, cost, compare-at price, discount, sale "
            "price, markdown",
        ),
    )
    intro = gettext_lazy(
        "Each form in which your products are sold. Tick several, or narrow the list, to change their prices at once."
    )
    form = VariantForm
    list_display = ("product_title", "own_title", "sku", "price_shown", "inventory_quantity")
    list_extra = ("scanned", "compared", "cost", "vendor", "tracked")
    list_self_evident = ("vendor",)
    list_display_links = ("product_title", "own_title")
    list_select_related = ("product", "inventory_item")
    list_filter = ("inventory_policy", "taxable", VariantProductFilter, PriceFilter, LowStockFilter)
    search_fields = ("inventory_item__sku__istartswith", "barcode__exact", "title_key__startswith")
    place_in_search = 40
    ordering = ("product_id", "position", "id")
    # What a variant is called and how many there are of it, no index knows.
    sortable_by = ("product_title", "price_shown")
    empty_text = gettext_lazy("There are no variants: each product brings at least one.")
    fieldsets = (
        (None, {"fields": (COLUMNS, ("price", "compare_at_price"), ("sku", "barcode"), "image")}),
        (gettext_lazy("Stock"), {"fields": ("tracked", "inventory_policy")}),
        (gettext_lazy("Shipping and tax"), {"fields": (("weight", "weight_unit"), "taxable")}),
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        """They are made with their product."""
        return False

    def get_form(
        self, request: HttpRequest, obj: Variant | None = None, change: bool = False, **kwargs: Any
    ) -> type[forms.ModelForm[Variant]]:
        """With the options' names, and the prices in further currencies that the shop has."""
        own = {"form": _priced(self.shop(request)), "labels": named_columns(obj.product if obj else None)}
        return super().get_form(request, obj, change, **{**own, **kwargs})

    def get_fieldsets(self, request: HttpRequest, obj: Variant | None = None) -> Any:
        """With a row for each further currency; who may only look sees what each comes to, and no empty options."""
        rows: list[Any] = [
            (f"price_{each.currency}", f"compare_{each.currency}") for each in presentments_of(self.shop(request))
        ]
        first: Fieldset
        others: list[Fieldset]
        first, *others = self.fieldsets
        if not self.has_change_permission(request, obj):
            columns = tuple(named_columns(obj.product if obj else None))
            first = (None, {"fields": (*filter(None, (columns,)), *first[1]["fields"][1:])})
            rows = ["other_prices"] if rows else []
        if rows:
            others.insert(0, (_("Prices in other currencies"), {"fields": tuple(rows)}))
        return (first, *others)

    @display(description=gettext_lazy("In other currencies"))
    def other_prices(self, variant: Variant) -> str:
        """For those who may only look."""
        tags = {
            each.currency: tag_in(each, variant.price, variant.compare_at_price, variant.fixed_prices)
            for each in presentments_of(current_shop())
        }
        return ", ".join(languages.money(tag[0], code) for code, tag in tags.items() if tag)

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> forms.ModelChoiceField[Any] | None:
        """Offer the product's own pictures."""
        if db_field.name == "image":
            match = request.resolver_match
            pk = match.kwargs.get("object_id") if match else None
            variant = Variant.rows().filter(pk=pk).first() if pk is not None and str(pk).isdecimal() else None
            own = ProductImage.rows().filter(product=variant.product_id if variant else None)
            kwargs["queryset"] = own.order_by("position", "id")
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Variant]:
        """With the product, after which the only variant is called, and what is stocked."""
        # The products' indexes begin with the shop.
        variants = super().get_queryset(request).filter(product__shop=self.shop(request))
        return variants.select_related(*self.list_select_related)

    def names_in_search(self, rows: Sequence[Variant]) -> Mapping[int, str]:
        """With their products."""
        return {row.pk: row.full_name for row in rows}

    def told_in_search(self, instance: Variant) -> Sequence[str]:
        """Its SKU, where it has one."""
        return [instance.inventory_item.sku] if instance.inventory_item.sku else []

    @display(description=gettext_lazy("Title"), empty_value="–")
    def own_title(self, variant: Variant) -> str | None:
        """What tells it from the others of its product; nothing where there are none."""
        return None if variant.is_default else variant.title

    @display(description=gettext_lazy("Product"), ordering="product__title_key")
    def product_title(self, variant: Variant) -> str:
        """Whose it is."""
        return variant.product.title

    @display(description=gettext_lazy("SKU"))
    def sku(self, variant: Variant) -> str:
        """As its item has it."""
        return variant.inventory_item.sku

    @display(description=gettext_lazy("Counted"), boolean=True)
    def tracked(self, variant: Variant) -> bool:
        """As its item has it."""
        return variant.inventory_item.tracked

    @display(description=gettext_lazy("Price"), ordering="price")
    def price_shown(self, variant: Variant) -> str:
        """With the currency's decimals."""
        return languages.amount(variant.price, current_shop().currency)

    @display(description=gettext_lazy("Barcode"), empty_value="–")
    def scanned(self, variant: Variant) -> str | None:
        """As the scanner reads it."""
        return variant.barcode

    @display(description=gettext_lazy("Compare at"), empty_value="–")
    def compared(self, variant: Variant) -> str | None:
        """The price that is crossed out."""
        price = variant.compare_at_price
        return None if price is None else languages.amount(price, current_shop().currency)

    @display(description=gettext_lazy("Cost"), empty_value="–")
    def cost(self, variant: Variant) -> str | None:
        """What one costs the shop."""
        cost = variant.inventory_item.cost
        return None if cost is None else languages.amount(cost, current_shop().currency)

    @display(description=gettext_lazy("Vendor"))
    def vendor(self, variant: Variant) -> str:
        """Who makes its product."""
        return variant.product.vendor

    def hold(self, instance: Variant) -> None:
        """Stock comes before the product, which holds its variants."""
        lock_stock(variant_ids=[instance.pk], going=True)
        lock_product(instance.product_id)

    def save_model(self, request: HttpRequest, obj: Variant, form: VariantForm, change: bool) -> None:
        """Through the service: values are settled among all variants of the product."""
        wanted = form.wanted()
        if "image" in wanted.attrs:
            image = wanted.attrs.pop("image")
            wanted.attrs["image_id"] = image.pk if image else None
        variants.update_variant(Variant.objects.get(pk=obj.pk), wanted, **self.by(request))

    def delete_model(self, request: HttpRequest, obj: Variant) -> None:
        """Through the service: the last one stays."""
        variants.delete_variant(obj, **self.by(request))

    def response_post_save_change(self, request: HttpRequest, obj: Variant) -> HttpResponseRedirect:
        """Back to the product."""
        return HttpResponseRedirect(reverse("admin:catalog_product_change", args=(obj.product_id,)))
