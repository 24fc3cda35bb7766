"""Panel pages for collections: the base classes and custom collections."""

from typing import ClassVar

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.catalog.admin.collection_products import CollectionProductsPage
from apps.catalog.admin.duplication import CustomDuplicateForm, SmartDuplicateForm
from apps.catalog.admin.images import thumbnail
from apps.catalog.admin.products import PublishableForm
from apps.catalog.domain import image_files
from apps.catalog.domain.collections import lifecycle
from apps.catalog.domain.collections.lifecycle import CollectionParts
from apps.catalog.domain.collections.membership import get_collection_products
from apps.catalog.models import Collection, CustomCollection
from apps.core.admin.forms.html_fields import MarkupField
from apps.core.admin.forms.image_input import ImageInput
from apps.core.admin.forms.publishing import get_visibility_label
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.duplication import DuplicatingAdmin
from apps.core.admin.model_admin.extra_views import row_view
from apps.core.admin.staff_request import Context
from apps.core.admin.theme import Fieldset, display
from apps.core.i18n.error_messages import format_bytes
from apps.core.i18n.messages import translate
from apps.core.media.image_validation import MAX_BYTES, TOO_MANY_BYTES
from apps.metafields.admin.inline import MetafieldInline

_LIMITS = format_lazy(gettext_lazy("PNG, JPEG, GIF, WebP or AVIF, up to {size}."), size=format_bytes(MAX_BYTES))


class CollectionForm(PublishableForm[Collection]):
    body_html = MarkupField(label=gettext_lazy("Description"))
    picture = forms.FileField(required=False, widget=ImageInput, help_text=_LIMITS, label=gettext_lazy("Image"))
    remove_picture = forms.BooleanField(required=False, label=gettext_lazy("Remove image"))

    class Meta:
        model: type[Collection] = Collection
        fields: tuple[str, ...] = (
            "title",
            "body_html",
            "handle",
            "template_suffix",
            "published_scope",
            "sort_order",
            "image_alt",
        )

    def prepare(self) -> None:
        super().prepare()
        if "picture" in self.fields:
            self.fields["picture"].widget.thumbnail = image = _render_image(self.instance)
            if image is None:
                self.fields["remove_picture"].widget = forms.HiddenInput()

    def clean_picture(self) -> UploadedFile[bytes] | None:
        """Check the file size. The service checks that the file is an image."""
        file: UploadedFile[bytes] | None = self.cleaned_data["picture"]
        if file and (file.size or 0) > MAX_BYTES:
            raise ValidationError(_("The image {refusal}.").format(refusal=translate(TOO_MANY_BYTES)))
        return file


def _render_image(collection: Collection) -> SafeString | None:
    if not collection.image_key:
        return None
    return thumbnail(collection.shop_id, collection.image_key, collection.image_name, collection.image_alt or "", 96)


class CollectionAdmin(CollectionProductsPage, DuplicatingAdmin[Collection]):
    kind: ClassVar[Collection.Kind]
    inlines = (MetafieldInline,)
    list_display = ("banner", "title", "sorted_by", "published", "updated_at")
    list_display_links = ("banner", "title")
    list_filter: ClassVar[tuple[str, ...]] = ("sort_order",)
    search_fields = ("title_key__contains", "handle__istartswith")
    ordering = ("title", "id")
    change_form_template = "panel/catalog/collection.html"

    def storefront_path(self, instance: Collection) -> str:
        return f"/collections/{instance.handle}"

    @row_view("duplicate/", "catalog.add_customcollection", "catalog.add_smartcollection", keyed=True)
    def duplicate_view(self, request: HttpRequest, collection: Collection) -> HttpResponse:
        form_class = SmartDuplicateForm if collection.is_smart else CustomDuplicateForm
        return self.render_duplicate(request, collection, form_class)

    @display(description="")
    def banner(self, collection: Collection) -> SafeString:
        return thumbnail(collection.shop_id, collection.image_key, collection.image_name, collection.title)

    @display(description=gettext_lazy("Sort order"), ordering="sort_order")
    def sorted_by(self, collection: Collection) -> str:
        return collection.get_sort_order_display()

    @display(description=gettext_lazy("Published"), boolean=True)
    def published(self, collection: Collection) -> bool:
        return collection.published_at is not None

    @display(description=gettext_lazy("Visibility"))
    def visibility(self, collection: Collection) -> str:
        """Return the visibility for staff who may view but not change collections."""
        return get_visibility_label(collection.published_at)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        collection = self.get_object(request, object_id)
        context = dict(extra_context or {})
        if collection is not None:
            context["members"] = get_collection_products(collection).count()
            context["members_url"] = self.url("products", collection.pk)
        return super().change_view(request, object_id, form_url, context)

    def save_model(self, request: HttpRequest, obj: Collection, form: CollectionForm, change: bool) -> None:
        parts = CollectionParts(removes_image=form.cleaned_data["remove_picture"])
        if file := form.cleaned_data["picture"]:
            parts.image = image_files.store_uploaded_image(self.shop(request).pk, file.read(), file.name)
        by = self.event_kwargs(request)
        try:
            if change:
                lifecycle.update_collection(Collection.objects.get(pk=obj.pk), form.attrs(), parts, **by)
            else:
                obj.pk = lifecycle.create_collection(self.kind, form.attrs(), parts, **by).pk
                obj._state.adding = False
        except BaseException:
            image_files.discard_images([parts.image] if parts.image else [])
            raise

    def delete_model(self, request: HttpRequest, obj: Collection) -> None:
        lifecycle.delete_collection(obj, **self.event_kwargs(request))


_ABOUT: Fieldset = (None, {"fields": ("title", "body_html")})
_PUBLISHING: Fieldset = (
    gettext_lazy("Publishing"),
    {"classes": ("bo-aside",), "fields": ("visibility", "published_at")},
)
_IMAGE_FIELDSET: Fieldset = (
    gettext_lazy("Image"),
    {"classes": ("bo-aside",), "fields": ("picture", "image_alt", "remove_picture")},
)
_STORE: Fieldset = (
    gettext_lazy("Online store"),
    {"classes": ("bo-aside", "collapse"), "fields": ("handle", "template_suffix", "published_scope")},
)
_PRODUCTS = gettext_lazy("Products")


@admin.register(CustomCollection)
class CustomCollectionAdmin(CollectionAdmin):
    kind = Collection.Kind.CUSTOM
    menu = MenuItem("Products", "shelves", 20, gettext_lazy("Collections"))
    search_terms = pgettext_lazy("search", "category, categories, group, department")
    form = CollectionForm
    intro = gettext_lazy(
        "Collections with products that you choose yourself. To select products by rules, create a smart collection."
    )
    empty_text = gettext_lazy("No collections yet. Create a collection, then add products.")
    fieldsets = (_ABOUT, (_PRODUCTS, {"fields": ("sort_order",)}), _PUBLISHING, _IMAGE_FIELDSET, _STORE)
