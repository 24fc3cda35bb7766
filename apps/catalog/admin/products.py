"""Panel pages for products: the product form with options, variants and images, and a separate images page."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, TypeAlias, TypeVar, cast

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Count, Exists, Max, OuterRef, QuerySet, Subquery, Sum
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy
from django_stubs_ext import WithAnnotations

from apps.catalog.admin import search
from apps.catalog.admin.duplication import ProductDuplicateForm
from apps.catalog.admin.filters import CreatedFilter, TagFilter, TypeFilter, VendorFilter, ViewFilter
from apps.catalog.admin.images import (
    MAX_FILES,
    MainImage,
    ProductImagesPage,
    annotate_main_image,
    get_changed_alt,
    get_image_rows,
    thumbnail,
)
from apps.catalog.admin.option_fields import OptionRow, OptionsField
from apps.catalog.admin.uploads import ProductUploads, StagedImage, collect_uploads
from apps.catalog.admin.variant_grid import MAX_GRID_ROWS, VariantFormSet, VariantInline, get_stock_cells_by_item
from apps.catalog.api.fields import HandleField
from apps.catalog.domain import products
from apps.catalog.domain.inputs import ImageInput, OptionInput, ProductParts
from apps.catalog.domain.locks import lock_product, lock_stock
from apps.catalog.domain.options import check_options, match_options
from apps.catalog.models import Collection, Product, ProductFeedback, ProductImage, ProductOption, Variant
from apps.core.admin.forms.error_display import as_sentence
from apps.core.admin.forms.forms import Values, mark_formset_saved, validate_with_api_field
from apps.core.admin.forms.html_fields import MarkupField
from apps.core.admin.forms.idempotency import get_post_data
from apps.core.admin.forms.publishing import PublishingForm, get_visibility_label
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.duplication import DuplicatingAdmin
from apps.core.admin.model_admin.extra_views import row_view
from apps.core.admin.model_admin.registry import Inline
from apps.core.admin.pages.first_steps import FirstStep, first_steps
from apps.core.admin.pages.tour import TourStep
from apps.core.admin.staff_request import Context
from apps.core.admin.theme import attribute_column, display
from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.core.rest.resources.fields import TagsField
from apps.core.tenancy.scope import get_current_shop
from apps.inventory.domain import stock_grid
from apps.inventory.models import StockMovement
from apps.metafields.admin.inline import MetafieldInline

Publishable = TypeVar("Publishable", Product, Collection)


# The maximum number of feedback messages on a page, one for each app.
MAX_FEEDBACK = 20


class PublishableForm(PublishingForm[Publishable]):
    """Base form of products and collections. A blank handle is derived from the title."""

    def prepare(self) -> None:
        super().prepare()
        if "handle" in self.fields:
            self.fields["handle"].help_text = _("Part of the URL. Leave blank to create the handle from the title.")

    def clean_handle(self) -> str:
        return str(validate_with_api_field(HandleField(), self.cleaned_data["handle"]))

    def attrs(self) -> Values:
        """Return the columns to save."""
        columns = {field.name for field in self.instance._meta.concrete_fields}
        return {name: value for name, value in self.values_to_store.items() if name in columns}


class ProductForm(PublishableForm[Product]):
    body_html = MarkupField(label=gettext_lazy("Description"))
    options = OptionsField(
        required=False,
        help_text=gettext_lazy("Add up to three options, such as size and color. New values create new variants."),
        label=gettext_lazy("Options"),
    )

    staged_images: Sequence[StagedImage] = ()
    upload_errors: Sequence[str] = ()

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
        super().prepare()
        if "visibility" in self.fields:
            self.fields["visibility"].help_text = _("Customers see a visible product while it is active.")
        self.existing: list[ProductOption] = []
        if not self.instance._state.adding:
            self.existing = list(ProductOption.rows().filter(product=self.instance).order_by("position", "id"))
            self.initial["options"] = [OptionRow.from_option(option) for option in self.existing]

    def clean_tags(self) -> str:
        return str(validate_with_api_field(TagsField(), self.cleaned_data["tags"]))

    def clean_options(self) -> list[OptionInput]:
        options: list[OptionInput] = self.cleaned_data["options"]
        try:
            check_options(options)
        except DomainError as error:
            raise ValidationError([as_sentence(text) for texts in error.errors.values() for text in texts]) from None
        return options

    def clean(self) -> Values | None:
        cleaned = super().clean()
        for error in self.upload_errors:
            self.add_error(None, error)
        return cleaned

    def is_multipart(self) -> bool:
        """Return True because the form contains image files."""
        return True

    def requested_options(self) -> list[OptionInput] | None:
        """Return the requested options, or None if they did not change."""
        if "options" not in self.changed_data:
            return None
        requested: list[OptionInput] = self.cleaned_data["options"]
        return [
            OptionInput(item.name, item.values or (list(row.values) if row else []), row.pk if row else None)
            for item, row in zip(requested, match_options(self.existing, requested), strict=True)
        ] or None


class _Aggregates(MainImage):
    units: int | None
    forms: int
    highest_price: Decimal | None
    has_sold_out: bool


ListedProduct: TypeAlias = "WithAnnotations[Product, _Aggregates]"


@admin.register(Product)
class ProductAdmin(ProductUploads, ProductImagesPage, DuplicatingAdmin[Product]):
    menu = MenuItem("Products", "sell", 10)
    search_terms = pgettext_lazy("search", "goods, item, article, price, catalogue, assortment, vendor, brand")
    tour = TourStep(
        10,
        gettext_lazy("Your products"),
        gettext_lazy(
            "Set a product's prices, images and inventory on one page. The variants are created from the product's "
            "options. To edit several products at once, select them in the list and choose an action."
        ),
    )
    form = ProductForm
    inlines = (VariantInline, MetafieldInline)
    list_display = ("picture", "title", "state", "stock", "vendor", "product_type", "price")
    optional_columns = ("tagged", "published", "sold", "updated_at", "created_at")
    mobile_hide_labels = ("vendor", "product_type")
    list_display_links = ("picture", "title")
    list_filter = (ViewFilter, "status", "published_scope", VendorFilter, TypeFilter, TagFilter, CreatedFilter)
    search_fields = ("title_key__contains", "handle__istartswith")
    palette_order = 10
    search_help_text = gettext_lazy("Title, SKU, barcode, vendor, tag or metafield")
    ordering = ("-id",)
    intro = gettext_lazy("The products you sell. Edit variants, images and inventory on each product's page.")
    empty_text = gettext_lazy("No products yet. Add your first product. A title is enough to start.")
    change_form_template = "panel/catalog/product.html"

    fieldsets = (
        (None, {"fields": ("title", "body_html")}),
        (gettext_lazy("Options"), {"fields": ("options",)}),
        (gettext_lazy("Status"), {"classes": ("bo-aside",), "fields": ("status", "visibility", "published_at")}),
        (gettext_lazy("Organization"), {"classes": ("bo-aside",), "fields": ("product_type", "vendor", "tags")}),
        (
            gettext_lazy("Online store"),
            {"classes": ("bo-aside", "collapse"), "fields": ("handle", "template_suffix", "published_scope")},
        ),
    )

    def storefront_path(self, instance: Product) -> str:
        return f"/products/{instance.handle}"

    @row_view("duplicate/", "catalog.add_product", keyed=True)
    def duplicate_view(self, request: HttpRequest, product: Product) -> HttpResponse:
        return self.render_duplicate(request, product, ProductDuplicateForm)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Product]:
        variants = Variant.objects.filter(product=OuterRef("pk")).order_by().values("product")
        products = (
            super()
            .get_queryset(request)
            .annotate(
                units=Subquery(variants.annotate(units=Sum("inventory_quantity")).values("units")),
                forms=Subquery(variants.annotate(forms=Count("pk")).values("forms")),
                highest_price=Subquery(variants.annotate(highest=Max("price")).values("highest")),
                has_sold_out=Exists(
                    Variant.objects.filter(
                        product=OuterRef("pk"), inventory_quantity__lte=0, inventory_item__tracked=True
                    )
                ),
            )
        )
        return annotate_main_image(products)

    def get_extra_search_querysets(
        self, request: HttpRequest, queryset: QuerySet[Product], term: str, most: int
    ) -> Sequence[QuerySet[Product]]:
        return list(search.search_products(queryset, term, most))

    def suggest_searches(self, term: str) -> list[str]:
        return search.suggest_titles(term)

    def palette_details(self, instance: Product) -> Sequence[str]:
        return [text for text in (instance.vendor, instance.get_status_display()) if text]

    def palette_image(self, instance: Product) -> str:
        row = cast("ListedProduct", instance)
        key, name = row.image_key, row.image_name or ""
        return thumbnail(row.shop_id, key, name, side=32) if key else ""

    def get_inlines(self, request: HttpRequest, obj: Product | None) -> list[Inline]:
        if obj is not None and _count_variants(obj) > MAX_GRID_ROWS:
            return [MetafieldInline]
        return super().get_inlines(request, obj)

    @display(description=gettext_lazy("Image"))
    def picture(self, product: ListedProduct) -> SafeString:
        return thumbnail(product.shop_id, product.image_key or "", product.image_name or "", product.title)

    @display(
        description=gettext_lazy("Status"),
        ordering="status",
        label={"active": "success", "draft": "info", "archived": "warning"},
    )
    def state(self, product: Product) -> tuple[str, str]:
        return product.status, product.get_status_display()

    @display(description=gettext_lazy("Inventory"))
    def stock(self, product: ListedProduct) -> str:
        """Return the inventory of all variants, highlighted if a variant is sold out."""
        text = ngettext(
            "{units} in stock for {number} variant", "{units} in stock for {number} variants", product.forms
        )
        text = text.format(units=product.units or 0, number=product.forms)
        return format_html('<span class="bo-low">{}</span>', text) if product.has_sold_out else text

    @display(description=gettext_lazy("Price"), ordering="lowest_price")
    def price(self, product: ListedProduct) -> str:
        currency = get_current_shop().currency
        lowest, highest = product.lowest_price, product.highest_price or product.lowest_price
        prices = dict.fromkeys(formats.format_amount(price, currency) for price in (lowest, highest))
        return " – ".join(prices)

    tagged = attribute_column("tags", gettext_lazy("Tags"))
    sold = attribute_column("units_sold", gettext_lazy("Items sold"))

    @display(description=gettext_lazy("Published"), boolean=True)
    def published(self, product: Product) -> bool:
        return product.published_at is not None

    # The product page shows these two values only to staff who may view but not change products.

    @display(description=gettext_lazy("Visibility"))
    def visibility(self, product: Product) -> str:
        return get_visibility_label(product.published_at)

    @display(description=gettext_lazy("Options"))
    def options(self, product: Product) -> str:
        return "; ".join(f"{option.name}: {', '.join(option.values)}" for option in product.options.all())

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Context | None = None,
    ) -> HttpResponse:
        writes = self.has_change_permission(request) if object_id else self.has_add_permission(request)
        staged_images, upload_errors = (
            collect_uploads(request, self.shop(request).pk) if writes and request.method == "POST" else ([], [])
        )
        request.staged_images, request.upload_errors = staged_images, upload_errors  # type: ignore[attr-defined]
        product = self.get_object(request, object_id) if object_id else None
        count = _count_variants(product) if product else 0
        context = {
            "uploads": staged_images,
            "most_files": MAX_FILES,
            "most_rows": MAX_GRID_ROWS,
            "upload_url": self.url("upload"),
            "many_variants": count if count > MAX_GRID_ROWS else 0,
            "images": get_image_rows(product, get_post_data(request)) if product else [],
            "may_upload": self.has_change_permission(request, product) if product else True,
            "feedback": _get_feedback(product) if product else [],
            **(extra_context or {}),
        }
        return super().changeform_view(request, object_id, form_url, context)

    def get_form(
        self, request: HttpRequest, obj: Product | None = None, change: bool = False, **kwargs: Any
    ) -> type[forms.ModelForm[Product]]:
        form = super().get_form(request, obj, change, **kwargs)
        form.staged_images = getattr(request, "staged_images", [])  # type: ignore[attr-defined]
        form.upload_errors = getattr(request, "upload_errors", [])  # type: ignore[attr-defined]
        return form

    def lock_row(self, instance: Product) -> None:
        lock_stock(product_id=instance.pk, deleting=True)
        lock_product(instance.pk)

    def save_model(self, request: HttpRequest, obj: Product, form: ProductForm, change: bool) -> None:
        """Do nothing, because ``save_related`` saves the product together with its variants."""

    def save_related(self, request: HttpRequest, form: ProductForm, formsets: Iterable[Any], change: bool) -> None:
        sheet = next((formset for formset in formsets if isinstance(formset, VariantFormSet)), None)
        options = form.requested_options()
        variant_inputs = sheet.get_variant_inputs(options, form.existing) if sheet is not None else None
        if sheet is None:
            _check_values_unchanged(options, form.existing)
        parts = ProductParts(options=options, variants=variant_inputs, images=_get_images(form, request.POST))
        by = self.event_kwargs(request)
        if change:
            products.update_product(Product.objects.get(pk=form.instance.pk), form.attrs(), parts, **by)
        else:
            product = products.create_product(form.attrs(), parts, **by)
            form.instance.pk, form.instance._state.adding = product.pk, False
        if sheet is not None:
            self._save_stock(request, form.instance.pk, sheet)
        for formset in formsets:
            if isinstance(formset, VariantFormSet):
                mark_formset_saved(formset)
            else:
                self.save_formset(request, form, formset, change=change)

    def _save_stock(self, request: HttpRequest, product_id: int, sheet: VariantFormSet) -> None:
        variants = Variant.objects.filter(product=product_id).order_by("position", "id")
        cells = get_stock_cells_by_item(sheet.stock_rows, list(variants.values_list("inventory_item_id", flat=True)))
        if not cells:
            return
        try:
            stock_grid.save_cells(cells, reason=StockMovement.Reason.COUNT, **self.event_kwargs(request))
        except stock_grid.CellsRefused as error:
            text = _("The inventory of a variant can't be saved. {refusal}")
            raise DomainError(text.format(refusal=next(iter(error.cells.values())))) from error

    def delete_model(self, request: HttpRequest, obj: Product) -> None:
        products.delete_product(obj, **self.event_kwargs(request))


def _get_images(form: ProductForm, data: QueryDict) -> list[ImageInput] | None:
    """Return the images with the changed alternative texts and the new images, or None if nothing changed."""
    existing: list[ImageInput] = []
    if form.instance.pk:
        images = ProductImage.rows().filter(product=form.instance.pk).order_by("position", "id")
        existing = [ImageInput(id=pk, attrs=get_changed_alt(data, pk)) for pk in images.values_list("pk", flat=True)]
    if not form.staged_images and not any(image.attrs for image in existing):
        return None
    return [*existing, *(staged_image.image_input for staged_image in form.staged_images)]


def _check_values_unchanged(options: Sequence[OptionInput] | None, existing: Sequence[ProductOption]) -> None:
    """Check that the submitted option values are unchanged, if the form has no variant rows."""
    partners = match_options(existing, options or [])
    if any(
        row is None or set(item.values) != set(row.values) for item, row in zip(options or [], partners, strict=True)
    ):
        text = _(
            "You can't edit option values here if the product has more than {limit} variants. "
            "Edit the option values on each variant's page."
        )
        raise DomainError(text.format(limit=MAX_GRID_ROWS))


def _get_feedback(product: Product) -> list[ProductFeedback]:
    """Return what apps want staff to change, unless the product has changed since the app checked it."""
    rows = ProductFeedback.rows().filter(product=product, state="requires_action")
    current = rows.filter(resource_updated_at__gte=product.updated_at)
    return list(current.select_related("app").order_by("pk")[:MAX_FEEDBACK])


def _count_variants(product: Product) -> int:
    return cast("ListedProduct", product).forms


first_steps.add(
    FirstStep(
        "catalog_product_add",
        gettext_lazy("Add your first product"),
        gettext_lazy("Enter a title, a price and images."),
        "add",
        "catalog.add_product",
        Product.rows,
        order=10,
    )
)
