from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import TypeAlias, TypedDict

from django.contrib import messages
from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django_stubs_ext import WithAnnotations

from apps.catalog.domain import image_files, products
from apps.catalog.domain.image_files import StoredImage, get_local_image_url
from apps.catalog.domain.images import MAX_IMAGES, add_image
from apps.catalog.domain.inputs import ImageInput, ProductParts
from apps.catalog.models import Product, ProductImage
from apps.core.admin.forms.error_display import format_unchanged_error
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import row_view
from apps.core.admin.permissions import require_permission
from apps.core.admin.staff_request import Context
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import translate
from apps.core.media.image_validation import MAX_BYTES, TOO_MANY_BYTES
from apps.core.media.names import parse_transformation
from apps.core.media.uploads import UploadRefused


def thumbnail(shop_id: int, key: str, name: str, alt: str = "", side: int = 48) -> SafeString:
    """Return the HTML of a thumbnail, or of an empty square if there is no image."""
    if not key:
        # The empty square may be the only content of a link, so it needs an accessible name.
        label_attrs = format_html(' role="img" aria-label="{}"', alt) if alt else ""
        return format_html('<span class="bo-thumb" data-side="{}"{}></span>', side, label_attrs)
    url = get_thumbnail_url(shop_id, key, name, 2 * side)
    return format_html('<img class="bo-thumb" data-side="{}" src="{}" alt="{}" loading="lazy">', side, url, alt)


def get_thumbnail_url(shop_id: int, key: str, name: str, side: int) -> str:
    """Return the URL of a version of an image that is at most ``side`` pixels wide and high."""
    stem, _, extension = name.rpartition(".")
    small = f"{stem}_{side}x{side}.{extension}"
    return get_local_image_url(shop_id, key, small if parse_transformation(small) else name)


class MainImage(TypedDict):
    """The annotations that ``annotate_main_image`` adds to products."""

    image_key: str | None
    image_name: str | None


ProductWithImage: TypeAlias = "WithAnnotations[Product, MainImage]"


def annotate_main_image(products: QuerySet[Product]) -> QuerySet[ProductWithImage]:
    first = ProductImage.objects.filter(product=OuterRef("pk")).order_by("position", "id")
    return products.annotate(image_key=Subquery(first.values("key")[:1]), image_name=Subquery(first.values("name")[:1]))


@dataclass(frozen=True, slots=True)
class ImageRow:
    """An image in the product form: its thumbnail and its alternative text, which may have been changed."""

    pk: int
    thumbnail: SafeString
    stored_alt: str
    alt: str


def get_image_rows(product: Product, data: QueryDict | None) -> list[ImageRow]:
    """Return the images of a product in order, with the submitted alternative texts if the form is shown again."""
    rows = ProductImage.rows().filter(product=product).order_by("position", "id")
    return [
        ImageRow(
            row.pk,
            thumbnail(row.shop_id, row.key, row.name, row.alt or "", 160),
            row.alt or "",
            (row.alt or "") if data is None else data.get(f"alt-{row.pk}", row.alt or ""),
        )
        for row in rows
    ]


VIEW, CHANGE = "catalog.view_product", "catalog.change_product"
MAX_ALT = 512
MAX_FILES = 20


class ProductImagesPage(ShopOwnedAdmin[Product]):
    @row_view("images/")
    def images_view(self, request: HttpRequest, product: Product) -> HttpResponse:
        require_permission(request, CHANGE if request.method == "POST" else VIEW, CHANGE)
        if request.method == "POST":
            try:
                message = self._add_images(request, product) if request.FILES else self._change_images(request, product)
                self.message_user(request, message, messages.SUCCESS)
            except DomainError as error:
                self.message_user(request, format_unchanged_error(error), messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())
        rows = list(ProductImage.rows().filter(product=product).order_by("position", "id"))
        context = {
            "original": product,
            "images": [(row, get_thumbnail_url(row.shop_id, row.key, row.name, 240)) for row in rows],
            "editable": request.user.has_perm(CHANGE),
            "room": MAX_IMAGES - len(rows),
            "most_files": MAX_FILES,
            "max_bytes": MAX_BYTES,
        }
        return self.page(request, "panel/catalog/images.html", _("Images of {name}").format(name=product), **context)

    def _add_images(self, request: HttpRequest, product: Product) -> str:
        """Store the uploaded files and append them to the product's images. Return the success message."""
        files = request.FILES.getlist("files")
        if len(files) > MAX_FILES:
            raise UploadRefused(
                _("You can upload at most {limit} files at once.").format(limit=MAX_FILES), field="base"
            )
        stored_images: list[StoredImage] = []
        by = self.event_kwargs(request)
        try:
            for file in files:
                if (file.size or 0) > MAX_BYTES:
                    raise UploadRefused(f"{file.name} {translate(TOO_MANY_BYTES)}.", field="base")
                stored_images.append(image_files.store_uploaded_image(product.shop_id, file.read(), file.name or ""))
            with transaction.atomic():
                for image in stored_images:
                    add_image(product.pk, ImageInput(image=image), **by)
        except BaseException:
            image_files.discard_images(stored_images)
            raise
        count = len(stored_images)
        return ngettext("{count} image added.", "{count} images added.", count).format(count=count)

    def _change_images(self, request: HttpRequest, product: Product) -> str:
        """Apply the submitted order, alternative texts and deletions. Images added concurrently move to the end."""
        images_by_id = {row.pk: row for row in ProductImage.rows().filter(product=product).order_by("position", "id")}
        submitted_ids = list(dict.fromkeys(_parse_ids(request.POST.getlist("image"), images_by_id)))
        removed_ids = set(_parse_ids(request.POST.getlist("remove"), images_by_id))
        requested_order = move_id(submitted_ids, request.POST.get("move", ""))
        rendered_order = _parse_ids(request.POST.get("seen-order", "").split(), images_by_id)
        current_order = [pk for pk in images_by_id if pk in submitted_ids]
        if requested_order == rendered_order:
            requested_order = current_order
        elif rendered_order and rendered_order != current_order:
            raise DomainError(_("Someone else has reordered the images. Reload the page and try again."))
        ordered = [*requested_order, *(pk for pk in images_by_id if pk not in submitted_ids)]
        image_inputs = [
            ImageInput(id=pk, attrs=get_changed_alt(request.POST, pk)) for pk in ordered if pk not in removed_ids
        ]
        products.update_product(product, {}, ProductParts(images=image_inputs), **self.event_kwargs(request))
        return _("Images saved.")


def _parse_ids(texts: Iterable[str], valid_ids: Container[int]) -> list[int]:
    return [int(text) for text in texts if text.isdecimal() and int(text) in valid_ids]


def get_changed_alt(data: QueryDict, pk: int) -> Context:
    """Return the submitted alternative text, unless it is unchanged, so that it overwrites no concurrent change."""
    text = data.get(f"alt-{pk}")
    if text is None or text.strip() == data.get(f"seen-alt-{pk}"):
        return {}
    return {"alt": text.strip()[:MAX_ALT] or None}


def move_id(ids: list[int], move: str) -> list[int]:
    """Return the ids after one move: ``"17:-1"`` moves id 17 one position toward the front."""
    text, _, step = move.partition(":")
    if not text.isdecimal() or step not in {"-1", "1"} or int(text) not in ids:
        return ids
    index = ids.index(int(text))
    target = index + int(step)
    if 0 <= target < len(ids):
        ids[index], ids[target] = ids[target], ids[index]
    return ids
