"""Look up staff members on behalf of the shops app, which must not import the staff app.

The staff app registers the lookup function at startup, so that dependencies point in one direction.
"""

from collections.abc import Callable
from dataclasses import dataclass

from apps.shops.models import Shop


@dataclass(frozen=True, slots=True)
class Member:
    """A staff member with current access to a shop.

    Attributes:
        scopes: The access scopes that correspond to the member's own permissions.
        may_install: True if the member may install and uninstall apps.
        may_refund: True if the member may refund orders.
    """

    user_id: int
    first_name: str
    last_name: str
    email: str
    locale: str
    account_owner: bool
    scopes: frozenset[str]
    may_install: bool
    may_refund: bool


FindMember = Callable[[int, Shop], Member | None]
_finders: list[FindMember] = []


def register_member_lookup(find: FindMember) -> None:
    """Register the function that looks up a member. The staff app calls this at startup."""
    _finders[:] = [find]


def find_member(user_id: int, shop: Shop) -> Member | None:
    """Return the staff member if they currently have access to the shop, or None. Results are never cached."""
    return next((member for find in _finders if (member := find(user_id, shop))), None)
