"""What shops, which stand below the staff, must know of a staff member who acts through an app.

The staff app plugs its reader in when it starts; the dependency points downwards only.
"""

from collections.abc import Callable
from dataclasses import dataclass

from apps.shops.models import Shop


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody who may enter a shop, as they are now.

    Attributes:
        scopes: The access scopes that do no more than the person may do themselves.
        may_install: Whether they may install and uninstall apps.
        may_refund: Whether they may give money of orders back.
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


def use_members(find: FindMember) -> None:
    """Plug the staff in."""
    _finders[:] = [find]


def member_of(user_id: int, shop: Shop) -> Member | None:
    """The person, where they may enter the shop now; nothing of it is kept from an earlier request."""
    return next((member for find in _finders if (member := find(user_id, shop))), None)
