"""The pictures that staff put into descriptions and articles."""

from django import forms
from django.contrib import admin, messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect, JsonResponse
from django.urls import URLPattern
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.content.domain import store_files
from apps.content.domain.addresses import path_of, store_file_url
from apps.content.models import StoreFile
from apps.ground.errors import DomainError
from apps.ground.phrases import size_of
from apps.ground.retelling import retold
from apps.media.intake import PictureRefused
from apps.media.pictures import MAX_BYTES, MAX_MEGAPIXELS, TOO_MANY_BYTES
from apps.panel.access import require
from apps.panel.menu import Menu
from apps.panel.requests import Context, in_shop
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.screens.forms import PanelForm
from apps.panel.screens.markup import keep_pictures_at
from apps.panel.theme import Fieldset, ThemedFileInput, display
from apps.panel.wording import in_words
from apps.staff.domain.permissions import grant

for _name in ("pages", "products", "themes"):
    grant(_name, "vad", "content.storefile")
keep_pictures_at("admin:content_storefile_pick")


class StoreFileForm(PanelForm[StoreFile]):
    """A picture to keep."""

    file = forms.FileField(
        label=gettext_lazy("Picture"),
        widget=ThemedFileInput(),
        help_text=format_lazy(
            gettext_lazy("PNG, GIF or JPEG, at most {size} and {megapixels} megapixels."),
            size=size_of(MAX_BYTES),
            megapixels=MAX_MEGAPIXELS,
        ),
    )


@admin.register(StoreFile)
class StoreFileAdmin(ShopOwnedAdmin[StoreFile]):
    """What texts may show; the visual editor lists and stores pictures here, too."""

    form = StoreFileForm
    menu = Menu(
        "Online store",
        "image",
        30,
        gettext_lazy("Files"),
        words=pgettext_lazy("search", "picture, image, photo, logo, upload, media, document, pdf, video"),
    )
    intro = gettext_lazy(
        "Pictures for descriptions and articles. Drop one into a text, or store it here and copy its address."
    )
    empty_text = gettext_lazy("No picture is stored yet. Add one, or drop it into a description.")
    list_display = ("picture", "name", "size", "created_at")
    list_display_links = ("name",)
    list_select_related = ("content",)
    search_fields = ("name__istartswith",)
    ordering = ("-id",)
    readonly_fields = ("picture", "name", "size", "address", "created_at")

    def get_fieldsets(self, request: HttpRequest, obj: StoreFile | None = None) -> tuple[Fieldset, ...]:
        """A file to choose, or what became of it."""
        return ((None, {"fields": self.readonly_fields if obj else ("file",)}),)

    def has_change_permission(self, request: HttpRequest, obj: StoreFile | None = None) -> bool:
        """Nobody: another picture is another file."""
        return False

    def get_urls(self) -> list[URLPattern]:
        """What the visual editor asks, besides Django's own."""
        return [self.action_url("pick/", self.pick_view, "pick"), *super().get_urls()]

    @display(description=gettext_lazy("Picture"))
    def picture(self, file: StoreFile) -> SafeString:
        """A small version of it."""
        return format_html('<img src="{}" alt="" class="bo-thumb" loading="lazy">', _shown(file, small=True))

    @display(description=gettext_lazy("Size"))
    def size(self, file: StoreFile) -> str:
        """In pixels and in bytes."""
        return _("{width} × {height} pixels, {size}").format(
            width=file.width, height=file.height, size=size_of(file.content.size)
        )

    @display(description=gettext_lazy("Address"))
    def address(self, file: StoreFile) -> str:
        """What texts call it."""
        return store_file_url(file.shop, file.name, file.content.sha256)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Context | None = None,
    ) -> HttpResponse:
        """Store what was chosen, before any transaction opens: a file knows no rollback."""
        upload = request.FILES.get("file")
        if request.method == "POST" and object_id is None and upload is not None:
            try:
                file = self._keep(request, upload)
            except DomainError as refusal:
                in_shop(request).panel_refusal = DomainError(in_words(refusal), field="file")
            else:
                self.message_user(request, _("Stored {name}.").format(name=file.name), messages.SUCCESS)
                return HttpResponseRedirect(self.url("change", file.pk))
        return super().changeform_view(request, object_id, form_url, extra_context)

    def delete_model(self, request: HttpRequest, obj: StoreFile) -> None:
        """Let go of it."""
        store_files.delete(obj, **self.by(request))

    def pick_view(self, request: HttpRequest) -> HttpResponse:
        """The newest files whose name begins with ``q``; POST stores ``file``. Answers in JSON."""
        if request.method == "POST":
            require(request, "content.add_storefile")
            upload = request.FILES.get("file")
            if upload is None:
                return JsonResponse({"error": _("No picture came.")}, status=422)
            try:
                return JsonResponse({"file": _told(self._keep(request, upload))})
            except DomainError as refusal:
                return JsonResponse({"error": in_words(refusal)}, status=refusal.status)
        if request.method != "GET":
            return HttpResponseNotAllowed(["GET", "POST"])
        require(request, "content.view_storefile")
        term = request.GET.get("q", "").strip()[:255].replace("\x00", "")
        return JsonResponse({"files": [_told(file) for file in store_files.find(term)]})

    def _keep(self, request: HttpRequest, upload: UploadedFile[bytes]) -> StoreFile:
        """Store an upload; refused from those who may not, and where it is no picture."""
        require(request, "content.add_storefile")
        if (upload.size or 0) > MAX_BYTES:
            raise PictureRefused(_("The picture {refusal}.").format(refusal=retold(TOO_MANY_BYTES)))
        return store_files.keep(upload.read(), str(upload.name), **self.by(request))


def _shown(file: StoreFile, *, small: bool = False) -> str:
    """Its address on this host."""
    stem, _, suffix = file.name.rpartition(".")
    name = f"{stem}_160x160.{suffix}" if small else file.name
    return path_of(store_file_url(file.shop, name, file.content.sha256))


def _told(file: StoreFile) -> dict[str, str]:
    """For the editor: the address that texts hold, and a small version on this host."""
    url = store_file_url(file.shop, file.name, file.content.sha256)
    return {"name": file.name, "address": url, "path": _shown(file, small=True)}
