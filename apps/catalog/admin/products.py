"""Products as staff see them: one form with their variants, and a page for their images."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, TypedDict, cast

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy
from django_stubs_ext import WithAnnotations

from apps.api.resources.fields import TagsField
from apps.catalog.admin import searching
from apps.catalog.admin.filters import CreatedFilter, TagFilter, TypeFilter, VendorFilter
from apps.catalog.admin.images import ProductImagesPage
from apps.catalog.admin.option_fields import OptionRow, OptionsField
from apps.catalog.admin.sheet import MOST_ROWS, VariantFormSet, VariantInline, cells_of
from apps.catalog.admin.thumbnails import thumbnail
from apps.catalog.admin.uploads import MAX_FILES, ProductUploads, Waiting, brought
from apps.catalog.api.fields import HandleField
from apps.catalog.domain import products
from apps.catalog.domain.inputs import ImageInput, OptionInput, Parts
from apps.catalog.domain.locks import lock_product, lock_stock
from apps.catalog.domain.options import check_inputs, matched
from apps.catalog.models import Product, ProductImage, ProductOption, Variant
from apps.ground.errors import DomainError
from apps.inventory.domain import grid
from apps.inventory.models import StockMovement
from apps.metafields.admin.inline import MetafieldInline
from apps.panel.menu import Menu
from apps.panel.requests import Context
from apps.panel.screens.extensions import Inline
from apps.panel.screens.forms import PanelForm, Values, read_as
from apps.panel.screens.inlines import nothing_to_save
from apps.panel.screens.markup import MarkupField
from apps.panel.theme import display
from apps.panel.tour import Step
from apps.panel.wording import sentence

COLUMN_NAMES = {field.name for field in Product._meta.concrete_fields}


class ProductForm(PanelForm[Product]):
    """A product; without a handle it gets one from its title."""

    body_html = MarkupField(label=gettext_lazy("Description"))
    published = forms.BooleanField(
        required=False,
        initial=True,
        help_text=gettext_lazy("Offered to customers while it is active."),
        label=gettext_lazy("Published"),
    )
    options = OptionsField(
        required=False,
        help_text=gettext_lazy("What the variants differ in. New values make new variants; at most three options."),
        label=gettext_lazy("Options"),
    )

    brought: Sequence[Waiting] = ()
    refused_pictures: Sequence[str] = ()

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
        """The options, each with its values."""
        self.existing: list[ProductOption] = []
        if not self.instance._state.adding:
            self.existing = list(ProductOption.rows().filter(product=self.instance).order_by("position", "id"))
            self.initial["published"] = self.instance.published_at is not None
            self.initial["options"] = [OptionRow.of(option) for option in self.existing]
        if "handle" in self.fields:
            self.fields["handle"].help_text = _("Part of its address; made from the title.")

    def clean_tags(self) -> str:
        """Once each, sorted."""
        return str(read_as(TagsField(), self.cleaned_data["tags"]))

    def clean_handle(self) -> str:
        """In the form that handles have."""
        return str(read_as(HandleField(), self.cleaned_data["handle"]))

    def clean_options(self) -> list[OptionInput]:
        """At most three, all different."""
        wanted: list[OptionInput] = self.cleaned_data["options"]
        try:
            check_inputs(wanted)
        except DomainError as refusal:
            raise ValidationError([sentence(text) for texts in refusal.errors.values() for text in texts]) from None
        return wanted

    def clean(self) -> Values | None:
        """What was dropped and cannot be shown is said, not left out."""
        cleaned = super().clean()
        for said in self.refused_pictures:
            self.add_error(None, said)
        return cleaned

    def is_multipart(self) -> bool:
        """It carries pictures."""
        return True

    def attrs(self) -> Values:
        """The columns to store."""
        given = self.given
        if "published" in given:
            given["published_at"] = timezone.now() if given["published"] else None
        return {name: value for name, value in given.items() if name in COLUMN_NAMES}

    def wanted_options(self) -> list[OptionInput] | None:
        """The options as they should be; None where they stay."""
        if "options" not in self.changed_data:
            return None
        named: list[OptionInput] = self.cleaned_data["options"]
        return [
            OptionInput(item.name, item.values or (list(row.values) if row else []), row.pk if row else None)
            for item, row in zip(named, matched(self.existing, named), strict=True)
        ] or None


class _Aggregates(TypedDict):
    units: int | None
    forms: int
    image_key: str | None
    image_name: str | None


Listed: TypeAlias = "WithAnnotations[Product, _Aggregates]"


@admin.register(Product)
class ProductAdmin(ProductUploads, ProductImagesPage):
    """What the shop sells; saving goes through the services."""

    menu = Menu(
        "Catalog",
        "sell",
        10,
        words=pgettext_lazy("search", "goods, item, article, price, catalogue, assortment, vendor, brand"),
    )
    tour = Step(
        10,
        gettext_lazy("What you sell"),
        gettext_lazy(
            "Prices, pictures and stock of a product stand on one page, and its options make its variants. "
            "To change many at once, tick them in the list and choose what to do."
        ),
    )
    form = ProductForm
    inlines = (VariantInline, MetafieldInline)
    list_display = ("picture", "title", "state", "stock", "vendor", "product_type", "updated_at")
    list_extra = ("tagged", "published", "sold", "created_at")
    list_self_evident = ("vendor", "product_type")
    list_display_links = ("picture", "title")
    list_filter = ("status", "published_scope", VendorFilter, TypeFilter, TagFilter, CreatedFilter)
    search_fields = ("title_key__contains", "handle__istartswith")
    place_in_search = 10
    search_help_text = gettext_lazy("Title, handle, SKU, barcode, beginning of a vendor; a whole tag or metafield")
    ordering = ("-id",)
    intro = gettext_lazy(
        "What you sell. Its forms, such as sizes and colours, its pictures and stock stand on its page."
    )
    empty_text = gettext_lazy("There are no products yet. Add the first: a title is enough to begin with.")
    change_form_template = "panel/catalog/product.html"

    class Media:
        css = {"all": ("panel/catalog.css",)}

    fieldsets = (
        (None, {"fields": ("title", "body_html", ("status", "published"))}),
        (gettext_lazy("Options"), {"fields": ("options",)}),
        (gettext_lazy("Organisation"), {"fields": (("vendor", "product_type"), "tags")}),
        (
            gettext_lazy("Online store"),
            {"classes": ("collapse",), "fields": (("handle", "template_suffix"), "published_scope")},
        ),
    )

    def storefront_path(self, instance: Product) -> str:
        """Where shoppers see it."""
        return f"/products/{instance.handle}"

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

    def also_found(
        self, request: HttpRequest, queryset: QuerySet[Product], term: str, most: int
    ) -> Sequence[QuerySet[Product]]:
        """By vendor, tag, SKU, barcode, and the value of a metafield."""
        return list(searching.parts_of(queryset, term, most))

    def told_in_search(self, instance: Product) -> Sequence[str]:
        """Who makes it, and whether it is for sale."""
        return [text for text in (instance.vendor, instance.get_status_display()) if text]

    def picture_in_search(self, instance: Product) -> str:
        """The main image."""
        listed = cast("Listed", instance)
        key, name = listed.image_key, listed.image_name or ""
        return thumbnail(listed.shop_id, key, name, side=32) if key else ""

    def get_inlines(self, request: HttpRequest, obj: Product | None) -> list[Inline]:
        """Many variants are edited one by one."""
        if obj is not None and _variants_of(obj) > MOST_ROWS:
            return [MetafieldInline]
        return super().get_inlines(request, obj)

    @display(description=gettext_lazy("Picture"))
    def picture(self, product: Listed) -> SafeString:
        """The main image."""
        return thumbnail(product.shop_id, product.image_key or "", product.image_name or "", product.title)

    @display(
        description=gettext_lazy("Status"),
        ordering="status",
        label={"active": "success", "draft": "info", "archived": "warning"},
    )
    def state(self, product: Product) -> tuple[str, str]:
        """In words."""
        return product.status, product.get_status_display()

    @display(description=gettext_lazy("Stock"))
    def stock(self, product: Listed) -> str:
        """Over all variants and locations."""
        told = ngettext("{units} in {number} variant", "{units} in {number} variants", product.forms)
        return told.format(units=product.units or 0, number=product.forms)

    @display(description=gettext_lazy("Tags"))
    def tagged(self, product: Product) -> str:
        """As they were given."""
        return product.tags

    @display(description=gettext_lazy("Units sold"))
    def sold(self, product: Product) -> int:
        """Over all variants and times."""
        return product.units_sold

    @display(description=gettext_lazy("Published"), boolean=True)
    def published(self, product: Product) -> bool:
        """For those who may only look."""
        return product.published_at is not None

    @display(description=gettext_lazy("Options"))
    def options(self, product: Product) -> str:
        """For those who may only look."""
        return "; ".join(f"{option.name}: {', '.join(option.values)}" for option in product.options.all())

    def get_urls(self) -> list[URLPattern]:
        """The page of the images besides."""
        images = self.action_url("<path:object_id>/images/", self.images_view, "images")
        return [images, *super().get_urls()]

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Context | None = None,
    ) -> HttpResponse:
        """With the pictures that the form brings, and the way to the variants of a product with many."""
        writes = self.has_change_permission(request) if object_id else self.has_add_permission(request)
        waiting, refused = brought(request, self.shop(request).pk) if writes and request.method == "POST" else ([], [])
        request.pictures_brought, request.pictures_refused = waiting, refused  # type: ignore[attr-defined]
        product = self.get_object(request, object_id) if object_id else None
        count = _variants_of(product) if product else 0
        context = {
            "brought": waiting,
            "most_files": MAX_FILES,
            "most_rows": MOST_ROWS,
            "upload_url": self.url("upload"),
            "many_variants": count if count > MOST_ROWS else 0,
            "images": _shown(product) if product else [],
            "may_upload": self.has_change_permission(request, product) if product else True,
            **(extra_context or {}),
        }
        return super().changeform_view(request, object_id, form_url, context)

    def get_form(
        self, request: HttpRequest, obj: Product | None = None, change: bool = False, **kwargs: Any
    ) -> type[forms.ModelForm[Product]]:
        """With the pictures that it brings."""
        form = super().get_form(request, obj, change, **kwargs)
        form.brought = getattr(request, "pictures_brought", [])  # type: ignore[attr-defined]
        form.refused_pictures = getattr(request, "pictures_refused", [])  # type: ignore[attr-defined]
        return form

    def hold(self, instance: Product) -> None:
        """Stock comes before the product."""
        lock_stock(product_id=instance.pk, going=True)
        lock_product(instance.pk)

    def save_model(self, request: HttpRequest, obj: Product, form: ProductForm, change: bool) -> None:
        """Nothing yet: the product is saved together with its variants."""

    def save_related(self, request: HttpRequest, form: ProductForm, formsets: Iterable[Any], change: bool) -> None:
        """Save the product and its variants in one call, then what else hangs on it."""
        sheet = next((formset for formset in formsets if isinstance(formset, VariantFormSet)), None)
        options = form.wanted_options()
        wanted = sheet.wanted(options, form.existing) if sheet is not None else None
        if sheet is None:
            _keep_values(options, form.existing)
        parts = Parts(options=options, variants=wanted, images=_with_new(form))
        by = self.by(request)
        if change:
            products.update_product(Product.objects.get(pk=form.instance.pk), form.attrs(), parts, **by)
        else:
            made = products.create_product(form.attrs(), parts, **by)
            form.instance.pk, form.instance._state.adding = made.pk, False
        if sheet is not None:
            self._count(request, form.instance.pk, sheet)
        for formset in formsets:
            if isinstance(formset, VariantFormSet):
                nothing_to_save(formset)
            else:
                self.save_formset(request, form, formset, change=change)

    def _count(self, request: HttpRequest, product_id: int, sheet: VariantFormSet) -> None:
        """Write the stock that was typed, in the transaction of the rest."""
        variants = Variant.objects.filter(product=product_id).order_by("position", "id")
        cells = cells_of(sheet.counted, list(variants.values_list("inventory_item_id", flat=True)))
        if not cells:
            return
        try:
            grid.write_cells(cells, reason=StockMovement.Reason.COUNT, **self.by(request))
        except grid.CellsRefused as refusal:
            said = next(iter(refusal.cells.values()))
            raise DomainError(_("The stock of a variant cannot be saved. {refusal}").format(refusal=said)) from refusal

    def delete_model(self, request: HttpRequest, obj: Product) -> None:
        """Through the service: stock and files go along."""
        products.delete_product(obj, **self.by(request))


def _with_new(form: ProductForm) -> list[ImageInput] | None:
    """The images that there are, and behind them the new ones; None where none is new."""
    if not form.brought:
        return None
    stored = ProductImage.rows().filter(product=form.instance.pk).order_by("position", "id")
    kept = [ImageInput(id=pk) for pk in stored.values_list("pk", flat=True)] if form.instance.pk else []
    return [*kept, *(one.wanted for one in form.brought)]


def _keep_values(options: Sequence[OptionInput] | None, existing: Sequence[ProductOption]) -> None:
    """Without the rows of the variants their values stay.

    Raises:
        DomainError: Others are asked for.
    """
    partners = matched(existing, options or [])
    if any(
        row is None or set(item.values) != set(row.values) for item, row in zip(options or [], partners, strict=True)
    ):
        text = _("A product with more than {limit} variants keeps its values here. Change them on the variants' pages.")
        raise DomainError(text.format(limit=MOST_ROWS))


def _shown(product: Product) -> list[SafeString]:
    rows = ProductImage.rows().filter(product=product).order_by("position", "id")
    return [thumbnail(row.shop_id, row.key, row.name, row.alt or "", 64) for row in rows]


def _variants_of(product: Product) -> int:
    return cast("Listed", product).forms
