"""The page of a product's images: add, describe, order by mouse or keyboard, remove."""

from collections.abc import Container, Iterable

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.catalog.domain import pictures, products
from apps.catalog.domain.images import MAX_IMAGES, add_image
from apps.catalog.domain.inputs import ImageInput, Parts
from apps.catalog.domain.pictures import Picture
from apps.catalog.models import Product, ProductImage
from apps.ground.errors import DomainError
from apps.ground.retelling import retold
from apps.media.intake import PictureRefused
from apps.media.pictures import MAX_BYTES, TOO_MANY_BYTES
from apps.panel.access import require
from apps.panel.requests import Context
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.wording import nothing_changed

VIEW, CHANGE = "catalog.view_product", "catalog.change_product"
MAX_ALT = 512
MAX_FILES = 20


class ProductImagesPage(ShopOwnedAdmin[Product]):
    """Gives the products' screen its page of images."""

    def images_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the images, or do what a form asks for."""
        product = self.row_or_404(request, object_id)
        require(request, CHANGE if request.method == "POST" else VIEW, CHANGE)
        if request.method == "POST":
            try:
                said = self._add_images(request, product) if request.FILES else self._change_images(request, product)
                self.message_user(request, said, messages.SUCCESS)
            except DomainError as refusal:
                self.message_user(request, nothing_changed(refusal), messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())
        rows = list(ProductImage.rows().filter(product=product).order_by("position", "id"))
        context = {
            "original": product,
            "images": [(row, self._address(row, 240)) for row in rows],
            "editable": request.user.has_perm(CHANGE),
            "room": MAX_IMAGES - len(rows),
            "most_files": MAX_FILES,
        }
        return self.page(request, "panel/catalog/images.html", _("Images of {name}").format(name=product), **context)

    @staticmethod
    def _address(row: ProductImage, side: int) -> str:
        stem, _, extension = row.name.rpartition(".")
        return pictures.local_address_of(row.shop_id, row.key, f"{stem}_{side}x{side}.{extension}")

    def _add_images(self, request: HttpRequest, product: Product) -> str:
        """Take files in and add them at the end."""
        files = request.FILES.getlist("files")
        if len(files) > MAX_FILES:
            raise PictureRefused(_("At most {limit} files can be sent at once.").format(limit=MAX_FILES), field="base")
        taken: list[Picture] = []
        by = self.by(request)
        try:
            for file in files:
                if (file.size or 0) > MAX_BYTES:
                    raise PictureRefused(f"{file.name} {retold(TOO_MANY_BYTES)}.", field="base")
                taken.append(pictures.store(product.shop_id, file.read(), file.name or ""))
            with transaction.atomic():
                for picture in taken:
                    add_image(product.pk, ImageInput(picture=picture), **by)
        except BaseException:
            pictures.discard(taken)
            raise
        return ngettext("{count} image added.", "{count} images added.", len(taken)).format(count=len(taken))

    def _change_images(self, request: HttpRequest, product: Product) -> str:
        """Order, describe and remove as the form says; images that came meanwhile stay, at the end."""
        known = {row.pk: row for row in ProductImage.rows().filter(product=product).order_by("position", "id")}
        named = list(dict.fromkeys(_numbers(request.POST.getlist("image"), known)))
        gone = set(_numbers(request.POST.getlist("remove"), known))
        chosen = moved(named, request.POST.get("move", ""))
        seen = _numbers(request.POST.get("seen-order", "").split(), known)
        still = [pk for pk in known if pk in named]
        if chosen == seen:
            chosen = still
        elif seen and seen != still:
            raise DomainError(_("Somebody put the images into another order meanwhile."))
        ordered = [*chosen, *(pk for pk in known if pk not in named)]
        wanted = [ImageInput(id=pk, attrs=_described(request.POST, pk)) for pk in ordered if pk not in gone]
        products.update_product(product, {}, Parts(images=wanted), **self.by(request))
        return _("The images are saved.")


def _numbers(texts: Iterable[str], known: Container[int]) -> list[int]:
    """Those of the numbers that are ids of known images."""
    return [int(text) for text in texts if text.isdecimal() and int(text) in known]


def _described(data: QueryDict, pk: int) -> Context:
    """The alternative text, where it is not the one that the page showed: somebody else's change stays."""
    text = data.get(f"alt-{pk}")
    if text is None or text.strip() == data.get(f"seen-alt-{pk}"):
        return {}
    return {"alt": text.strip()[:MAX_ALT] or None}


def moved(ids: list[int], move: str) -> list[int]:
    """The ids after one step of one of them: ``"17:-1"`` moves 17 one place towards the front."""
    text, _, step = move.partition(":")
    if not text.isdecimal() or step not in {"-1", "1"} or int(text) not in ids:
        return ids
    place = ids.index(int(text))
    other = place + int(step)
    if 0 <= other < len(ids):
        ids[place], ids[other] = ids[other], ids[place]
    return ids
