"""Pictures that are stored before the product that will show them: each is named by a signed ticket until then.

What no ticket was used for is cleared like any file that no row names (``orphans``), a day after it was written; a
ticket is good for less than that.
"""

from datetime import timedelta

from django.core import signing
from django.utils.translation import gettext as _

from apps.catalog.domain import orphans
from apps.catalog.domain.pictures import Picture
from apps.catalog.models import ProductImage
from apps.ground.errors import DomainError

GOOD_FOR = orphans.KEEP - timedelta(hours=2)
_SALT = "catalog.staged-picture"


class NotStaged(DomainError):
    """The picture is not waiting any more, or was never given in."""

    code = "not_staged"
    field = "pictures"


def ticket_of(picture: Picture) -> str:
    """What names a stored picture until a product shows it; nobody else can make one."""
    values = [picture.shop_id, picture.key, picture.name, picture.width, picture.height]
    return signing.dumps(values, salt=_SALT, compress=True)


def redeem(ticket: str, shop_id: int) -> Picture:
    """The picture of a ticket.

    Raises:
        NotStaged: The ticket is none of this shop's, is too old, or its picture is shown already.
    """
    try:
        owner, key, name, width, height = signing.loads(ticket, salt=_SALT, max_age=GOOD_FOR)
    except (signing.BadSignature, ValueError) as error:
        raise NotStaged(_("A picture has waited too long. Drop it again.")) from error
    if owner != shop_id or ProductImage.objects.filter(key=key).exists():
        raise NotStaged(_("A picture was added already. Drop it again."))
    return Picture(shop_id, key, name, width, height)
