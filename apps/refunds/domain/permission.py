"""Who may give money back: a permission of staff of its own, also where an app acts as them."""

from django.utils.translation import gettext as _

from apps.ground.errors import DomainError
from apps.ground.tenancy import current_shop
from apps.shops.domain.members import member_of


class NotPermitted(DomainError):
    """The person may not give money back in this shop."""

    code = "refund_not_permitted"
    status = 403


def check(actor: str) -> None:
    """Let apps and the product itself pass, which their scopes hold, and staff who may refund.

    Raises:
        NotPermitted: The actor is a person who may not.
    """
    kind, _colon, number = actor.partition(":")
    if kind != "staff":
        return
    member = member_of(int(number), current_shop()) if number.isdecimal() else None
    if member is None or not member.may_refund:
        raise NotPermitted(_("Refunding orders needs a permission of its own"))
