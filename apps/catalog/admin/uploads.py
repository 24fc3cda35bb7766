"""Pictures that are dropped on a product's form: taken in at once, one by one, and kept until the form is saved."""

from dataclasses import dataclass
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.urls import URLPattern
from django.utils.translation import gettext as _

from apps.catalog.domain import pictures
from apps.catalog.domain.inputs import ImageInput
from apps.catalog.domain.pictures import Picture
from apps.catalog.domain.staging import redeem, ticket_of
from apps.catalog.models import Product
from apps.ground.errors import DomainError
from apps.ground.retelling import retold
from apps.media.intake import PictureRefused
from apps.media.pictures import MAX_BYTES, TOO_MANY_BYTES
from apps.media.storage import StorageFailed
from apps.panel.access import require
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.wording import in_words

ADD, CHANGE = "catalog.add_product", "catalog.change_product"
MAX_ALT = 512
MAX_FILES = 20
SIDE = 240


@dataclass(frozen=True, slots=True)
class Waiting:
    """A picture that the form brings along.

    Attributes:
        picture: The stored file.
        ticket: Names it in the form.
        alt: What it shows, in words.
    """

    picture: Picture
    ticket: str
    alt: str

    @property
    def choice(self) -> str:
        """How a variant's field names it."""
        return f"new-{self.picture.key}"

    @property
    def address(self) -> str:
        """Where the browser finds it, small."""
        stem, _, extension = self.picture.name.rpartition(".")
        name = f"{stem}_{SIDE}x{SIDE}.{extension}"
        return pictures.local_address_of(self.picture.shop_id, self.picture.key, name)

    @property
    def wanted(self) -> ImageInput:
        """For the service."""
        return ImageInput(picture=self.picture, attrs={"alt": self.alt} if self.alt else {})


def taken(shop_id: int, data: bytes, size: int, name: str) -> Waiting:
    """Take a file in.

    Raises:
        PictureRefused: It is no picture, or exceeds a limit.
        StorageFailed: The storage does not take it.
    """
    if size > MAX_BYTES:
        raise PictureRefused(f"{name} {retold(TOO_MANY_BYTES)}.", field="base")
    picture = pictures.store(shop_id, data, name)
    return Waiting(picture, ticket_of(picture), "")


def brought(request: HttpRequest, shop_id: int) -> tuple[list[Waiting], list[str]]:
    """The pictures that a submitted form brings, then why others were refused; dropped ones come first."""
    waiting: dict[str, Waiting] = {}
    refused: list[str] = []
    alts = request.POST.getlist("picture-alt")
    for place, ticket in enumerate(request.POST.getlist("picture")):
        try:
            picture = redeem(ticket, shop_id)
        except DomainError as refusal:
            refused.append(in_words(refusal))
            continue
        alt = alts[place].strip()[:MAX_ALT] if place < len(alts) else ""
        waiting[picture.key] = Waiting(picture, ticket, alt)
    files = request.FILES.getlist("files")
    if len(files) > MAX_FILES:
        return [*waiting.values()], [*refused, _("At most {limit} files can be sent at once.").format(limit=MAX_FILES)]
    for file in files:
        try:
            new = taken(shop_id, file.read(), file.size or 0, file.name or "")
        except DomainError as refusal:
            refused.append(f"{file.name}: {in_words(refusal)}")
        else:
            waiting[new.picture.key] = new
    return [*waiting.values()], refused


class ProductUploads(ShopOwnedAdmin[Product]):
    """Gives the products' screen the address that takes a dropped picture."""

    def get_urls(self) -> list[URLPattern]:
        """With that address."""
        return [self.action_url("upload/", self.upload_view, "upload"), *super().get_urls()]

    def upload_view(self, request: HttpRequest) -> HttpResponse:
        """Take one file in; answers its ticket and where it is shown."""
        require(request, ADD, CHANGE)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        file = request.FILES.get("file")
        if file is None:
            return _refused(_("Choose a file."), HTTPStatus.UNPROCESSABLE_ENTITY)
        try:
            new = taken(self.shop(request).pk, file.read(), file.size or 0, file.name or "")
        except StorageFailed as refusal:
            return _refused(in_words(refusal), HTTPStatus.SERVICE_UNAVAILABLE)
        except DomainError as refusal:
            return _refused(in_words(refusal), HTTPStatus.UNPROCESSABLE_ENTITY)
        shown = {"ticket": new.ticket, "choice": new.choice, "address": new.address, "name": new.picture.name}
        return JsonResponse(shown)


def _refused(sentence: str, status: HTTPStatus) -> JsonResponse:
    return JsonResponse({"error": sentence}, status=status)
