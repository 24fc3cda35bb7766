"""Panel pages for the images that staff upload for descriptions and articles."""

from collections.abc import Sequence

from django.contrib import admin, messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect, JsonResponse
from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from apps.content.domain import store_files
from apps.content.domain.public_urls import get_local_path, get_store_file_url
from apps.content.models import StoreFile
from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.forms.html_fields import image_routes
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import extra_view
from apps.core.admin.permissions import require_permission
from apps.core.admin.staff_request import Context
from apps.core.admin.theme import display
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import format_bytes
from apps.core.i18n.messages import translate
from apps.core.media.image_validation import ACCEPTED, MAX_BYTES, MAX_MEGAPIXELS, TOO_MANY_BYTES
from apps.core.media.uploads import UploadRefused
from apps.core.tenancy.permissions import allow, grants

THUMBNAIL, PREVIEW_SIDE = "160x160", 480

for _name in ("pages", "products", "themes"):
    grants.add(allow(_name, "vad", "content.storefile"))
image_routes.register("files", "admin:content_storefile_pick")


@admin.register(StoreFile)
class StoreFileAdmin(ShopOwnedAdmin[StoreFile]):
    """Admin for uploaded images. The visual editor lists and uploads images through ``pick_view``."""

    add_title = gettext_lazy("Upload images")
    menu = MenuItem("Content", "image", 40, gettext_lazy("Files"))
    search_terms = pgettext_lazy("search", "picture, image, photo, logo, upload, media, document, pdf, video")
    intro = gettext_lazy(
        "Images for descriptions and articles. Drop an image into a text, or upload it here and copy its URL."
    )
    empty_text = gettext_lazy("No images yet. Upload an image here, or drop it into a description.")
    list_display = ("picture", "name", "size", "created_at")
    list_display_links = ("name",)
    list_select_related = ("content",)
    search_fields = ("name__istartswith",)
    ordering = ("-id",)
    readonly_fields = ("preview", "name", "size", "address", "created_at")

    fields = readonly_fields

    def has_change_permission(self, request: HttpRequest, obj: StoreFile | None = None) -> bool:
        return False

    @display(description=gettext_lazy("Image"))
    def picture(self, file: StoreFile) -> SafeString:
        return format_html('<img src="{}" alt="" class="bo-thumb" loading="lazy">', _get_local_url(file, THUMBNAIL))

    @display(description=gettext_lazy("Image"))
    def preview(self, file: StoreFile) -> SafeString:
        url = _get_local_url(file, f"{PREVIEW_SIDE}x{PREVIEW_SIDE}")
        return format_html('<img src="{}" alt="{}" class="bo-preview">', url, file.name)

    @display(description=gettext_lazy("Size"))
    def size(self, file: StoreFile) -> str:
        return _("{width} × {height} pixels, {size}").format(
            width=file.width, height=file.height, size=filesizeformat(file.content.size)
        )

    @display(description=gettext_lazy("URL"))
    def address(self, file: StoreFile) -> SafeString:
        """Return the URL with a button that copies it."""
        url = get_store_file_url(file.shop, file.name, file.content.sha256)
        return render_to_string("panel/file_url.html", {"url": url})

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Context | None = None) -> HttpResponse:
        """Show the drop zone, or store the uploaded images. Refused images do not affect the others.

        The page does not use ``submit_once``, because files are not rolled back with its transaction. The same image is
        stored only once.
        """
        require_permission(request, "content.add_storefile")
        results = [self._upload(request, upload) for upload in request.FILES.getlist("file")]
        refused = [result for result in results if result["error"]]
        if results and not refused:
            return self._redirect_to_uploads(request, results)
        context = {
            "results": results,
            "error": _("Choose an image.") if request.method == "POST" and not results else "",
            "summary": _describe_uploads(len(results) - len(refused), len(refused)) if results else "",
            "formats": ACCEPTED,
            "max_bytes": MAX_BYTES,
            "max_size": format_bytes(MAX_BYTES),
            "megapixels": MAX_MEGAPIXELS,
        }
        return self.page(request, "panel/files/add.html", _("Upload images"), **context)

    def _upload(self, request: HttpRequest, upload: UploadedFile[bytes]) -> Context:
        """Store an image, and return its row for the page."""
        row: Context = {"name": upload.name, "size": upload.size, "file": None, "error": ""}
        try:
            return row | {"file": _render_file(self._store_upload(request, upload))}
        except DomainError as error:
            return row | {"error": format_errors(error)}

    def _redirect_to_uploads(self, request: HttpRequest, results: Sequence[Context]) -> HttpResponse:
        """Open the page of the uploaded image, or the list if there are several."""
        first = results[0]["file"]
        if len(results) == 1:
            self.message_user(request, _("{name} uploaded.").format(name=first["name"]), messages.SUCCESS)
            return HttpResponseRedirect(first["page"])
        self.message_user(request, _describe_uploads(len(results), 0), messages.SUCCESS)
        return HttpResponseRedirect(self.url("changelist"))

    def delete_model(self, request: HttpRequest, obj: StoreFile) -> None:
        store_files.delete_store_file(obj, **self.event_kwargs(request))

    @extra_view("pick/")
    def pick_view(self, request: HttpRequest) -> HttpResponse:
        """Return the newest files as JSON, filtered by the start of the name (``q``). On POST, store an upload."""
        if request.method == "POST":
            require_permission(request, "content.add_storefile")
            upload = request.FILES.get("file")
            if upload is None:
                return JsonResponse({"error": _("Choose an image.")}, status=422)
            try:
                return JsonResponse({"file": _render_file(self._store_upload(request, upload))})
            except DomainError as error:
                return JsonResponse({"error": format_errors(error)}, status=error.status)
        if request.method != "GET":
            return HttpResponseNotAllowed(["GET", "POST"])
        require_permission(request, "content.view_storefile")
        term = request.GET.get("q", "").strip()[:255].replace("\x00", "")
        return JsonResponse({"files": [_render_file(file) for file in store_files.search_store_files(term)]})

    def _store_upload(self, request: HttpRequest, upload: UploadedFile[bytes]) -> StoreFile:
        require_permission(request, "content.add_storefile")
        if (upload.size or 0) > MAX_BYTES:
            raise UploadRefused(_("The image {refusal}.").format(refusal=translate(TOO_MANY_BYTES)))
        return store_files.save_store_file(upload.read(), str(upload.name), **self.event_kwargs(request))


def _get_local_url(file: StoreFile, size: str) -> str:
    """Return the path of the image in a size such as ``160x160``."""
    stem, _, suffix = file.name.rpartition(".")
    name = f"{stem}_{size}.{suffix}"
    return get_local_path(get_store_file_url(file.shop, name, file.content.sha256))


def _render_file(file: StoreFile) -> dict[str, str]:
    return {
        "name": file.name,
        "address": get_store_file_url(file.shop, file.name, file.content.sha256),
        "path": _get_local_url(file, THUMBNAIL),
        "page": reverse("admin:content_storefile_change", args=[file.pk]),
    }


def _describe_uploads(stored: int, refused: int) -> str:
    text = ngettext("{number} image uploaded.", "{number} images uploaded.", stored).format(number=stored)
    if not refused:
        return text
    refusal = ngettext("{number} file was not uploaded.", "{number} files were not uploaded.", refused)
    return f"{text} {refusal.format(number=refused)}"
