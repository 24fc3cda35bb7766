"""Images uploaded before their product is saved, identified by signed tickets.

If a ticket is not used, ``orphan_images`` deletes the image a day after the upload. Tickets expire before that time.
"""

from datetime import timedelta

from django.core import signing
from django.utils.translation import gettext as _

from apps.catalog.domain import orphan_images
from apps.catalog.domain.image_files import StoredImage
from apps.catalog.models import ProductImage
from apps.ground.exceptions import DomainError

TICKET_MAX_AGE = orphan_images.ORPHAN_MIN_AGE - timedelta(hours=2)
_SALT = "catalog.staged-picture"


class StagedImageUnavailable(DomainError):
    """Raised when a staged image has expired or was never uploaded."""

    code = "not_staged"
    field = "pictures"


def sign_ticket(image: StoredImage) -> str:
    """Return a signed ticket that identifies a stored image until a product uses the image."""
    values = [image.shop_id, image.key, image.name, image.width, image.height]
    return signing.dumps(values, salt=_SALT, compress=True)


def load_staged_image(ticket: str, shop_id: int) -> StoredImage:
    """Return the stored image that a ticket identifies.

    Raises:
        StagedImageUnavailable: The ticket is invalid, expired or from another shop, or the image is already in use.
    """
    try:
        ticket_shop_id, key, name, width, height = signing.loads(ticket, salt=_SALT, max_age=TICKET_MAX_AGE)
    except (signing.BadSignature, ValueError) as error:
        raise StagedImageUnavailable(_("The uploaded image has expired. Upload it again.")) from error
    if ticket_shop_id != shop_id or ProductImage.objects.filter(key=key).exists():
        raise StagedImageUnavailable(_("The uploaded image is already in use. Upload it again."))
    return StoredImage(shop_id, key, name, width, height)
