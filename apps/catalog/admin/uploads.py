"""Store images when staff drop them on the product form, and stage the images until the form is saved."""

from dataclasses import dataclass
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _

from apps.catalog.admin.images import MAX_ALT, MAX_FILES, get_thumbnail_url
from apps.catalog.domain import image_files
from apps.catalog.domain.image_files import StoredImage, load_staged_image, sign_ticket
from apps.catalog.domain.inputs import ImageInput
from apps.catalog.models import Product
from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import extra_view
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import translate
from apps.core.media.image_validation import MAX_BYTES, TOO_MANY_BYTES
from apps.core.media.storage import StorageFailed
from apps.core.media.uploads import UploadRefused

ADD, CHANGE = "catalog.add_product", "catalog.change_product"
SIDE = 240


@dataclass(frozen=True, slots=True)
class StagedImage:
    """An image that was uploaded to a product form, which identifies it by the signed ticket until it is saved."""

    image: StoredImage
    ticket: str
    alt: str

    @property
    def choice(self) -> str:
        """Return the value that represents the image in a variant's image field."""
        return f"new-{self.image.key}"

    @property
    def thumbnail_url(self) -> str:
        return get_thumbnail_url(self.image.shop_id, self.image.key, self.image.name, SIDE)

    @property
    def image_input(self) -> ImageInput:
        return ImageInput(image=self.image, attrs={"alt": self.alt} if self.alt else {})


def stage_upload(shop_id: int, data: bytes, size: int, name: str) -> StagedImage:
    """Store an uploaded file. Raise ``UploadRefused`` or ``StorageFailed`` if that is not possible."""
    if size > MAX_BYTES:
        raise UploadRefused(f"{name} {translate(TOO_MANY_BYTES)}.", field="base")
    image = image_files.store_uploaded_image(shop_id, data, name)
    return StagedImage(image, sign_ticket(image), "")


def collect_uploads(request: HttpRequest, shop_id: int) -> tuple[list[StagedImage], list[str]]:
    """Return the uploaded images of a submitted form and the errors of rejected files.

    Images that earlier requests staged come first, followed by the files of this request.
    """
    staged_images: dict[str, StagedImage] = {}
    errors: list[str] = []
    alts = request.POST.getlist("picture-alt")
    for index, ticket in enumerate(request.POST.getlist("picture")):
        try:
            image = load_staged_image(ticket, shop_id)
        except DomainError as error:
            errors.append(format_errors(error))
            continue
        alt = alts[index].strip()[:MAX_ALT] if index < len(alts) else ""
        staged_images[image.key] = StagedImage(image, ticket, alt)
    files = request.FILES.getlist("files")
    if len(files) > MAX_FILES:
        errors.append(_("You can upload at most {limit} files at once.").format(limit=MAX_FILES))
        files = []
    for file in files:
        try:
            uploaded = stage_upload(shop_id, file.read(), file.size or 0, file.name or "")
        except DomainError as error:
            errors.append(f"{file.name}: {format_errors(error)}")
        else:
            staged_images[uploaded.image.key] = uploaded
    return [*staged_images.values()], errors


class ProductUploads(ShopOwnedAdmin[Product]):
    @extra_view("upload/", ADD, CHANGE, post_only=True)
    def upload_view(self, request: HttpRequest) -> HttpResponse:
        file = request.FILES.get("file")
        if file is None:
            return _error_response(_("Choose a file."), HTTPStatus.UNPROCESSABLE_ENTITY)
        try:
            new = stage_upload(self.shop(request).pk, file.read(), file.size or 0, file.name or "")
        except StorageFailed as error:
            return _error_response(format_errors(error), HTTPStatus.SERVICE_UNAVAILABLE)
        except DomainError as error:
            return _error_response(format_errors(error), HTTPStatus.UNPROCESSABLE_ENTITY)
        data = {"ticket": new.ticket, "choice": new.choice, "address": new.thumbnail_url, "name": new.image.name}
        return JsonResponse(data)


def _error_response(sentence: str, status: HTTPStatus) -> JsonResponse:
    return JsonResponse({"error": sentence}, status=status)
