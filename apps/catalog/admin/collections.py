"""Collections as staff see them: what both kinds have in common, and those that are filled by hand."""

from typing import ClassVar

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.catalog.admin.members import MembersPage
from apps.catalog.admin.thumbnails import thumbnail
from apps.catalog.api.fields import HandleField
from apps.catalog.domain import pictures
from apps.catalog.domain.collections import lifecycle
from apps.catalog.domain.collections.lifecycle import CollectionParts
from apps.catalog.domain.collections.membership import products_of
from apps.catalog.models import Collection, CustomCollection
from apps.ground.phrases import size_of
from apps.ground.retelling import retold
from apps.media.pictures import MAX_BYTES, TOO_MANY_BYTES
from apps.metafields.admin.inline import MetafieldInline
from apps.panel.menu import Menu
from apps.panel.requests import Context
from apps.panel.screens.forms import PanelForm, Values, read_as
from apps.panel.screens.markup import MarkupField
from apps.panel.theme import Fieldset, ThemedFileInput, display

COLUMN_NAMES = {field.name for field in Collection._meta.concrete_fields}


_LIMITS = format_lazy(gettext_lazy("PNG, GIF or JPEG, at most {size}."), size=size_of(MAX_BYTES))


class CollectionForm(PanelForm[Collection]):
    """A collection; without a handle it gets one from its title."""

    body_html = MarkupField(label=gettext_lazy("Description"))
    published = forms.BooleanField(
        required=False,
        initial=True,
        help_text=gettext_lazy("Shown in the online store."),
        label=gettext_lazy("Published"),
    )
    picture = forms.FileField(required=False, widget=ThemedFileInput, help_text=_LIMITS, label=gettext_lazy("Picture"))
    remove_picture = forms.BooleanField(required=False, label=gettext_lazy("Remove picture"))

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
        """Whether it is published, and a hint for the handle."""
        if not self.instance._state.adding:
            self.initial["published"] = self.instance.published_at is not None
        if "handle" in self.fields:
            self.fields["handle"].help_text = _("Part of its address; made from the title.")

    def clean_handle(self) -> str:
        """In the form that handles have."""
        return str(read_as(HandleField(), self.cleaned_data["handle"]))

    def clean_picture(self) -> UploadedFile[bytes] | None:
        """Small enough; whether it is a picture is the service's to say."""
        file: UploadedFile[bytes] | None = self.cleaned_data["picture"]
        if file and (file.size or 0) > MAX_BYTES:
            raise ValidationError(_("The picture {refusal}.").format(refusal=retold(TOO_MANY_BYTES)))
        return file

    def attrs(self) -> Values:
        """The columns to store."""
        given = self.given
        if "published" in given:
            given["published_at"] = timezone.now() if given["published"] else None
        return {name: value for name, value in given.items() if name in COLUMN_NAMES}


class CollectionAdmin(MembersPage):
    """What the screens of both kinds have in common."""

    kind: ClassVar[Collection.Kind]
    inlines = (MetafieldInline,)
    list_display = ("banner", "title", "sorted_by", "published", "updated_at")
    list_display_links = ("banner", "title")
    list_filter: ClassVar[tuple[str, ...]] = ("sort_order",)
    search_fields = ("title_key__contains", "handle__istartswith")
    ordering = ("title", "id")
    change_form_template = "panel/catalog/collection.html"

    class Media:
        css = {"all": ("panel/catalog.css",)}

    def storefront_path(self, instance: Collection) -> str:
        """Where shoppers see it."""
        return f"/collections/{instance.handle}"

    @display(description="")
    def banner(self, collection: Collection) -> SafeString:
        """The picture."""
        return thumbnail(collection.shop_id, collection.image_key, collection.image_name, collection.title)

    @display(description=pgettext_lazy("sorting", "Order"), ordering="sort_order")
    def sorted_by(self, collection: Collection) -> str:
        """In words."""
        return collection.get_sort_order_display()

    @display(description=gettext_lazy("Published"), boolean=True)
    def published(self, collection: Collection) -> bool:
        """Whether it is shown."""
        return collection.published_at is not None

    def get_urls(self) -> list[URLPattern]:
        """The page of the products besides."""
        members = self.action_url("<path:object_id>/products/", self.members_view, "products")
        return [members, *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """With the picture and the number of products."""
        collection = self.get_object(request, object_id)
        context = dict(extra_context or {})
        if collection is not None:
            context["members"] = products_of(collection).count()
            context["members_url"] = self.url("products", collection.pk)
            if collection.image_key:
                context["banner"] = thumbnail(
                    collection.shop_id, collection.image_key, collection.image_name, collection.image_alt or "", 96
                )
        return super().change_view(request, object_id, form_url, context)

    def save_model(self, request: HttpRequest, obj: Collection, form: CollectionForm, change: bool) -> None:
        """Through the service, which names, counts and illustrates."""
        parts = CollectionParts(drops_picture=form.cleaned_data["remove_picture"])
        if file := form.cleaned_data["picture"]:
            parts.picture = pictures.store(self.shop(request).pk, file.read(), file.name)
        by = self.by(request)
        try:
            if change:
                lifecycle.update_collection(Collection.objects.get(pk=obj.pk), form.attrs(), parts, **by)
            else:
                obj.pk = lifecycle.create_collection(self.kind, form.attrs(), parts, **by).pk
                obj._state.adding = False
        except BaseException:
            pictures.discard([parts.picture] if parts.picture else [])
            raise

    def delete_model(self, request: HttpRequest, obj: Collection) -> None:
        """Through the service: the products stay."""
        lifecycle.delete_collection(obj, **self.by(request))


_ABOUT = ("title", "body_html", ("published", "sort_order"))
_PICTURE: Fieldset = (gettext_lazy("Picture"), {"fields": ("picture", "image_alt", "remove_picture")})
_STORE: Fieldset = (
    gettext_lazy("Online store"),
    {"classes": ("collapse",), "fields": (("handle", "template_suffix"), "published_scope")},
)


@admin.register(CustomCollection)
class CustomCollectionAdmin(CollectionAdmin):
    """Collections whose products people choose."""

    kind = Collection.Kind.CUSTOM
    menu = Menu(
        "Catalog",
        "shelves",
        20,
        gettext_lazy("Collections"),
        words=pgettext_lazy("search", "category, categories, group, department"),
    )
    form = CollectionForm
    intro = gettext_lazy("Collections that you fill by hand. Smart collections fill themselves by rules.")
    empty_text = gettext_lazy("There are no collections. Add one, then choose its products.")
    fieldsets = ((None, {"fields": _ABOUT}), _PICTURE, _STORE)
