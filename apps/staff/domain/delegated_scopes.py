"""Access scopes of staff members, for apps that act on their behalf."""

from collections.abc import Iterable

from apps.shops.domain.staff_access import Member
from apps.shops.models import Shop
from apps.shops.models.scopes import SCOPES
from apps.staff.domain.permissions import get_granted_permissions
from apps.staff.models import Membership, User

_STAFF = tuple(f"staff_management_{verb}" for verb in ("activation", "create", "delete", "update"))
_ORDERS = (("orders",), ("edit_orders",))
# For each resource, the permissions that allow reading and the permissions that allow writing. A staff member needs
# only one of the listed permissions.
REQUIRED_PERMISSIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
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


def get_member(user_id: int, shop: Shop) -> Member | None:
    """Return the staff member if they currently have access to the shop, or None. Operators have all permissions."""
    user = User.objects.filter(pk=user_id, is_active=True).first()
    membership = Membership._base_manager.filter(user_id=user_id, shop=shop).first()
    if user is None or not (membership or user.is_superuser):
        return None
    names, view_only = (membership.permissions, membership.view_only) if membership else ([], [])
    granted = get_granted_permissions(names, view_only)
    is_unrestricted = user.is_superuser or (membership is not None and membership.account_owner)
    return Member(
        user_id=user.pk,
        first_name=user.first_name,
        last_name=user.last_name,
        email=user.email,
        locale=user.locale,
        account_owner=membership is not None and membership.account_owner,
        scopes=frozenset(SCOPES) if is_unrestricted else get_delegated_scopes(names, view_only),
        may_install=is_unrestricted or "shops.add_installation" in granted,
        may_refund=is_unrestricted or "refunds.add_refund" in granted,
    )


def get_delegated_scopes(names: Iterable[str], view_only: Iterable[str] = ()) -> frozenset[str]:
    """Return the access scopes that correspond to full and view-only permissions."""
    writes = frozenset(names)
    reads = writes | frozenset(view_only)
    return frozenset(scope for scope in SCOPES if _is_scope_allowed(scope, reads, writes))


def _is_scope_allowed(scope: str, reads: frozenset[str], writes: frozenset[str]) -> bool:
    verb, _, word = scope.partition("_")
    # Only account owners have scopes that are not in ``REQUIRED_PERMISSIONS``.
    reading, writing = REQUIRED_PERMISSIONS.get(word, ((), ()))
    return not reads.isdisjoint(reading) if verb == "read" else not writes.isdisjoint(writing)
