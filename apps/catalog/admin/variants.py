"""Variants as staff see them: as rows of their product's form, or one by one where a product has many."""

from decimal import Decimal
from typing import Any, cast

from django import forms
from django.contrib import admin
from django.db.models import ForeignKey, QuerySet
from django.forms.models import BaseInlineFormSet
from django.forms.utils import pretty_name
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse

from apps.catalog.admin.fields import MoneyField
from apps.catalog.api.fields import quantum_of
from apps.catalog.domain import variants
from apps.catalog.domain.inputs import VariantInput
from apps.catalog.domain.options import COLUMNS
from apps.catalog.models import Product, ProductImage, Variant
from apps.ground.tenancy import current_shop
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.screens.forms import PanelForm, ShopOwnedForm
from apps.panel.screens.inlines import ShopOwnedTabularInline
from apps.panel.theme import ThemedTextInput, display

# Beyond as many, the rows would be more than one form can carry.
MOST_ROWS = 50
ITEM_FIELDS = ("sku", "tracked")
COLUMN_NAMES = {field.name for field in Variant._meta.concrete_fields}
ROW_FIELDS = (*COLUMNS, "price", "compare_at_price", "sku", "tracked", "barcode", "inventory_policy")


class VariantFields(ShopOwnedForm[Variant]):
    """What both forms of a variant have: its columns, and those of its inventory item."""

    price = MoneyField(initial=0)
    compare_at_price = MoneyField(required=False, label="Compare at")
    sku = forms.CharField(required=False, max_length=255, label="SKU", widget=ThemedTextInput(attrs={"size": "12"}))
    tracked = forms.BooleanField(required=False, initial=True, label="Counted")

    class Meta:
        model = Variant
        fields = tuple(name for name in ROW_FIELDS if name not in ITEM_FIELDS)

    def prepare(self) -> None:
        """The item's columns, and narrow fields: the form is a row of a table."""
        if not self.instance._state.adding:
            item = self.instance.inventory_item
            self.initial.update(sku=item.sku, tracked=item.tracked)
        elif "option1" in self.fields:
            self.initial["option1"] = ""
            self.fields["option1"].required = False
        for name in (*COLUMNS, "barcode"):
            if name in self.fields:
                self.fields[name].widget.attrs["size"] = "10"

    def wanted(self) -> VariantInput:
        """The variant as the form says it should be."""
        given = {name: self.cleaned_data[name] for name in self.changed_data if name in self.cleaned_data}
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


class VariantFormSet(BaseInlineFormSet[Variant, Product, forms.ModelForm[Variant]]):
    """The variants of a product; the product's form saves them together with it."""

    def wanted(self) -> list[VariantInput] | None:
        """The variants as the rows say; None where nothing changed."""
        if not self.has_changed():
            return None
        gone = set(self.deleted_forms)
        filled = [form for form in self.forms if form.instance.pk or form.has_changed()]
        return [cast("VariantFields", form).wanted() for form in filled if form not in gone]


class VariantInline(ShopOwnedTabularInline[Variant, Product]):
    """The variants of a product that has not too many."""

    model = Variant
    form = VariantFields
    formset = VariantFormSet
    fields = ROW_FIELDS
    ordering = ("position", "id")
    show_change_link = True
    tab = False

    def get_formset(
        self, request: HttpRequest, obj: Product | None = None, **kwargs: Any
    ) -> type[BaseInlineFormSet[Variant, Product, forms.ModelForm[Variant]]]:
        """The fields of a row stand under column heads, so each says its own name too."""
        made = super().get_formset(request, obj, **kwargs)
        for name, field in made.form.base_fields.items():
            field.widget.attrs["aria-label"] = field.label or pretty_name(name)
        return made

    def get_queryset(self, request: HttpRequest) -> QuerySet[Variant]:
        """With their items."""
        return Variant.rows().select_related("inventory_item").order_by(*self.ordering)

    @display(description="SKU")
    def sku(self, variant: Variant) -> str:
        """For those who may only look."""
        return variant.inventory_item.sku

    @display(description="Counted", boolean=True)
    def tracked(self, variant: Variant) -> bool:
        """For those who may only look."""
        return variant.inventory_item.tracked


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


@admin.register(Variant)
class VariantAdmin(ShopOwnedAdmin[Variant]):
    """Variants one by one; they are made on the page of their product."""

    form = VariantForm
    list_display = ("product_title", "title", "sku", "price_shown", "inventory_quantity")
    list_display_links = ("product_title", "title")
    list_select_related = ("product", "inventory_item")
    list_filter = ("inventory_policy", "taxable")
    search_fields = ("inventory_item__sku__istartswith", "barcode__exact", "title__istartswith")
    ordering = ("product_id", "position", "id")
    empty_text = "There are no variants: each product brings at least one."
    fieldsets = (
        (None, {"fields": (COLUMNS, ("price", "compare_at_price"), ("sku", "barcode"), "image")}),
        ("Stock", {"fields": ("tracked", "inventory_policy")}),
        ("Shipping and tax", {"fields": (("weight", "weight_unit"), "taxable")}),
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        """They are made with their product."""
        return False

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

    @display(description="Product", ordering="product__title")
    def product_title(self, variant: Variant) -> str:
        """Whose it is."""
        return variant.product.title

    @display(description="SKU")
    def sku(self, variant: Variant) -> str:
        """As its item has it."""
        return variant.inventory_item.sku

    @display(description="Counted", boolean=True)
    def tracked(self, variant: Variant) -> bool:
        """As its item has it."""
        return variant.inventory_item.tracked

    @display(description="Price", ordering="price")
    def price_shown(self, variant: Variant) -> Decimal:
        """With the currency's decimals."""
        return variant.price.quantize(quantum_of(current_shop().currency))

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
