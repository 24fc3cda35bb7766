"""Products as staff see them: one form with their variants, and a page for their images."""

from collections.abc import Iterable
from typing import Any, TypeAlias, TypedDict, cast

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils import timezone
from django.utils.safestring import SafeString
from django_stubs_ext import WithAnnotations

from apps.api.resources.fields import TagsField
from apps.catalog.admin.fields import read_as, thumbnail
from apps.catalog.admin.images import ProductImagesPage
from apps.catalog.admin.variants import MOST_ROWS, VariantFormSet, VariantInline
from apps.catalog.api.fields import HandleField, HtmlField
from apps.catalog.domain import products
from apps.catalog.domain.inputs import OptionInput, Parts
from apps.catalog.domain.options import matched
from apps.catalog.models import Product, ProductImage, ProductOption, Variant
from apps.catalog.models.products import MAX_OPTIONS
from apps.metafields.admin.inline import MetafieldInline
from apps.panel.menu import Menu
from apps.panel.requests import Context
from apps.panel.screens.extensions import Inline
from apps.panel.screens.forms import PanelForm, Values
from apps.panel.screens.inlines import nothing_to_save
from apps.panel.theme import ThemedTextInput, display

COLUMN_NAMES = {field.name for field in Product._meta.concrete_fields}


class ProductForm(PanelForm[Product]):
    """A product; without a handle it gets one from its title."""

    published = forms.BooleanField(required=False, initial=True, help_text="Offered to customers while it is active.")
    option_names = forms.CharField(
        required=False,
        label="Options",
        widget=ThemedTextInput,
        help_text="What the variants differ in, separated by commas: Size, Colour. At most three.",
    )

    class Meta:
        model = Product
        fields = (
            "title",
            "body_html",
            "vendor",
            "product_type",
            "tags",
            "status",
            "handle",
            "template_suffix",
            "published_scope",
        )

    def prepare(self) -> None:
        """The options as one line of names."""
        self.existing: list[ProductOption] = []
        if not self.instance._state.adding:
            self.existing = list(ProductOption.rows().filter(product=self.instance).order_by("position", "id"))
            self.initial["published"] = self.instance.published_at is not None
            self.initial["option_names"] = ", ".join(option.name for option in self.existing)
        if "tags" in self.fields:
            self.fields["tags"].widget = ThemedTextInput()
        if "handle" in self.fields:
            self.fields["handle"].help_text = "Part of its address; made from the title."

    def clean_body_html(self) -> str | None:
        """Not more than can be cleaned wherever it is shown."""
        text: str | None = read_as(HtmlField(), self.cleaned_data["body_html"])
        return text

    def clean_tags(self) -> str:
        """Once each, sorted."""
        return str(read_as(TagsField(), self.cleaned_data["tags"]))

    def clean_handle(self) -> str:
        """In the form that handles have."""
        return str(read_as(HandleField(), self.cleaned_data["handle"]))

    def clean_option_names(self) -> list[str]:
        """At most three, all different."""
        names = [name.strip() for name in self.cleaned_data["option_names"].split(",") if name.strip()]
        if len(names) > MAX_OPTIONS:
            raise ValidationError(f"A product can have at most {MAX_OPTIONS} options.")
        if any(len(name) > 255 for name in names):
            raise ValidationError("A name is too long.")
        return names

    def attrs(self) -> Values:
        """The columns that changed."""
        given = {name: self.cleaned_data[name] for name in self.changed_data if name in COLUMN_NAMES}
        if "published" in self.changed_data or self.instance._state.adding:
            given["published_at"] = timezone.now() if self.cleaned_data["published"] else None
        return given

    def options(self) -> list[OptionInput] | None:
        """The options as they should be; None where they stay."""
        if "option_names" not in self.changed_data:
            return None
        named = [OptionInput(name) for name in self.cleaned_data["option_names"]]
        return [
            OptionInput(item.name, list(row.values) if row else [], row.pk if row else None)
            for item, row in zip(named, matched(self.existing, named), strict=True)
        ] or None


class _Aggregates(TypedDict):
    units: int | None
    forms: int
    image_key: str | None
    image_name: str | None


Listed: TypeAlias = "WithAnnotations[Product, _Aggregates]"


@admin.register(Product)
class ProductAdmin(ProductImagesPage):
    """What the shop sells; saving goes through the services."""

    menu = Menu("Catalog", "sell", 10)
    form = ProductForm
    inlines = (VariantInline, MetafieldInline)
    list_display = ("picture", "title", "state", "stock", "vendor", "product_type", "updated_at")
    list_display_links = ("picture", "title")
    list_filter = ("status", "published_scope")
    search_fields = ("title__icontains", "handle__istartswith")
    ordering = ("-id",)
    empty_text = "There are no products yet. Add the first: a title is enough to begin with."
    change_form_template = "panel/catalog/product.html"

    class Media:
        css = {"all": ("panel/catalog.css",)}

    fieldsets = (
        (None, {"fields": ("title", "body_html", ("status", "published"), "option_names")}),
        ("Organisation", {"fields": (("vendor", "product_type"), "tags")}),
        ("Online store", {"classes": ("collapse",), "fields": (("handle", "template_suffix"), "published_scope")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Product]:
        """With what the list shows of other rows."""
        variants = Variant.objects.filter(product=OuterRef("pk")).order_by().values("product")
        first = ProductImage.objects.filter(product=OuterRef("pk")).order_by("position", "id")
        return (
            super()
            .get_queryset(request)
            .annotate(
                units=Subquery(variants.annotate(units=Sum("inventory_quantity")).values("units")),
                forms=Subquery(variants.annotate(forms=Count("pk")).values("forms")),
                image_key=Subquery(first.values("key")[:1]),
                image_name=Subquery(first.values("name")[:1]),
            )
        )

    def get_inlines(self, request: HttpRequest, obj: Product | None) -> list[Inline]:
        """Many variants are edited one by one."""
        if obj is not None and _variants_of(obj) > MOST_ROWS:
            return [MetafieldInline]
        return super().get_inlines(request, obj)

    @display(description="")
    def picture(self, product: Listed) -> SafeString:
        """The main image."""
        return thumbnail(product.shop_id, product.image_key or "", product.image_name or "", product.title)

    @display(
        description="Status", ordering="status", label={"Active": "success", "Draft": "info", "Archived": "warning"}
    )
    def state(self, product: Product) -> str:
        """In words."""
        return product.get_status_display()

    @display(description="Stock")
    def stock(self, product: Listed) -> str:
        """Over all variants and locations."""
        return f"{product.units or 0} in {product.forms} variant{'' if product.forms == 1 else 's'}"

    @display(description="Published", boolean=True)
    def published(self, product: Product) -> bool:
        """For those who may only look."""
        return product.published_at is not None

    @display(description="Options")
    def option_names(self, product: Product) -> str:
        """For those who may only look."""
        return ", ".join(option.name for option in product.options.all())

    def get_urls(self) -> list[URLPattern]:
        """The page of the images besides."""
        images = self.action_url("<path:object_id>/images/", self.images_view, "images")
        return [images, *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """With the pictures, and the way to the variants of a product with many."""
        product = self.get_object(request, object_id)
        context = dict(extra_context or {})
        if product is not None:
            rows = ProductImage.rows().filter(product=product).order_by("position", "id")[:8]
            context["pictures"] = [thumbnail(row.shop_id, row.key, row.name, row.alt or "", 64) for row in rows]
            count = _variants_of(product)
            context["many_variants"] = count if count > MOST_ROWS else 0
        return super().change_view(request, object_id, form_url, context)

    def save_model(self, request: HttpRequest, obj: Product, form: ProductForm, change: bool) -> None:
        """Nothing yet: the product is saved together with its variants."""

    def save_related(self, request: HttpRequest, form: ProductForm, formsets: Iterable[Any], change: bool) -> None:
        """Save the product and its variants in one call, then what else hangs on it."""
        rows = next((formset for formset in formsets if isinstance(formset, VariantFormSet)), None)
        parts = Parts(options=form.options(), variants=rows.wanted() if rows is not None else None)
        by = self.by(request)
        if change:
            products.update_product(Product.objects.get(pk=form.instance.pk), form.attrs(), parts, **by)
        else:
            made = products.create_product(form.attrs(), parts, **by)
            form.instance.pk, form.instance._state.adding = made.pk, False
        for formset in formsets:
            if isinstance(formset, VariantFormSet):
                nothing_to_save(formset)
            else:
                self.save_formset(request, form, formset, change=change)

    def delete_model(self, request: HttpRequest, obj: Product) -> None:
        """Through the service: stock and files go along."""
        products.delete_product(obj, **self.by(request))


def _variants_of(product: Product) -> int:
    return cast("Listed", product).forms
