"""Check that a staff member may refund orders, in the panel and through apps that act for staff."""

from django.utils.translation import gettext as _

from apps.ground.exceptions import DomainError
from apps.ground.tenancy import get_current_shop
from apps.shops.domain.staff_access import find_member


class RefundNotPermitted(DomainError):
    """Raised when a staff member may not refund orders in this shop."""

    code = "refund_not_permitted"
    status = 403


def check_may_refund(actor: str) -> None:
    """Check that the actor may refund orders.

    Apps and the system always pass, because access scopes are checked elsewhere.

    Raises:
        RefundNotPermitted: The actor is a staff member without permission to refund.
    """
    kind, _colon, number = actor.partition(":")
    if kind != "staff":
        return
    member = find_member(int(number), get_current_shop()) if number.isdecimal() else None
    if member is None or not member.may_refund:
        raise RefundNotPermitted(_("You do not have permission to refund orders"))
