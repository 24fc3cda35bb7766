"""What staff members may do through an app that acts as them: which access scopes stay within their permissions."""

from collections.abc import Iterable

from apps.shops.domain.members import Member
from apps.shops.models import Shop
from apps.shops.models.scopes import SCOPES
from apps.staff.domain.permissions import granted_by
from apps.staff.models import Membership, User

# By the word of a scope: the permission names of which one lets read, and of which one lets write.
_STAFF = tuple(f"staff_management_{verb}" for verb in ("activation", "create", "delete", "update"))
_ORDERS = (("orders",), ("edit_orders",))
NEEDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "script_tags": (("themes", "applications"), ("themes",)),
    "products": (("products",), ("products",)),
    "inventory": (("products",), ("products",)),
    "content": (("pages",), ("pages",)),
    "themes": (("themes",), ("themes",)),
    "theme_code": (("themes",), ("themes",)),
    "locations": (("locations", "products"), ("locations",)),
    "mobile_platform_applications": (("preferences",), ("preferences",)),
    "customers": (("customers",), ("customers",)),
    "orders": _ORDERS,
    "marketplace_orders": _ORDERS,
    "past_refunds": (("orders",), ("refund_orders",)),
    "payment_handlers": (("platform_payments_accounts",), ("platform_payments_accounts",)),
    "fulfillments": _ORDERS,
    "merchant_managed_fulfillment_orders": _ORDERS,
    "assigned_fulfillment_orders": _ORDERS,
    "third_party_fulfillment_orders": _ORDERS,
    "users": (_STAFF, _STAFF),
    "metafields": (("preferences",), ("preferences",)),
}


def member_of(user_id: int, shop: Shop) -> Member | None:
    """Somebody who may enter the shop now, with what they may do there; operators may everything."""
    user = User.objects.filter(pk=user_id, is_active=True).first()
    place = Membership._base_manager.filter(user_id=user_id, shop=shop).first()
    if user is None or not (place or user.is_superuser):
        return None
    names, view_only = (place.permissions, place.view_only) if place else ([], [])
    granted = granted_by(names, view_only)
    everything = user.is_superuser or (place is not None and place.account_owner)
    return Member(
        user_id=user.pk,
        first_name=user.first_name,
        last_name=user.last_name,
        email=user.email,
        locale=user.locale,
        account_owner=place is not None and place.account_owner,
        scopes=frozenset(SCOPES) if everything else scopes_of(names, view_only),
        may_install=everything or "shops.add_installation" in granted,
        may_refund=everything or "refunds.add_refund" in granted,
    )


def scopes_of(names: Iterable[str], view_only: Iterable[str] = ()) -> frozenset[str]:
    """The scopes that do no more than somebody may do who holds names fully, and further ones for viewing only."""
    writes = frozenset(names)
    reads = writes | frozenset(view_only)
    return frozenset(scope for scope in SCOPES if _within(scope, reads, writes))


def _within(scope: str, reads: frozenset[str], writes: frozenset[str]) -> bool:
    verb, _, word = scope.partition("_")
    # A scope that this table does not know is nobody's but an owner's.
    reading, writing = NEEDS.get(word, ((), ()))
    return not reads.isdisjoint(reading) if verb == "read" else not writes.isdisjoint(writing)
