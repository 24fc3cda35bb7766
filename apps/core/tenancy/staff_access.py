"""Find the shops that staff members may open, and their access scopes when apps act on their behalf."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.db.models import QuerySet

from apps.core.tenancy.access_scopes import SCOPES
from apps.core.tenancy.models import Membership, Shop, User
from apps.core.tenancy.permissions import get_granted_permissions
from apps.core.tenancy.scope import all_shops_scope


def get_accessible_shops(user: User) -> QuerySet[Shop]:
    """Return the shops that a user may open. Operators may open all shops."""
    shops: QuerySet[Shop] = Shop.objects.all()
    if user.is_superuser:
        return shops
    with all_shops_scope():
        shop_ids = Membership.objects.filter(user=user).values("shop_id")
    return shops.filter(pk__in=shop_ids)


def get_two_factor_deadline(user: User, shop: Shop | None) -> date | None:
    """Return the day, in the shop's time zone, from which the user needs a second factor that they lack, or None."""
    days = (settings.REQUIRE_TWO_FACTOR_FROM, shop.two_factor_from if shop else None)
    day = min((day for day in days if day), default=None)
    return day if day and not is_mfa_enabled(user) else None


_STAFF = tuple(f"staff_management_{verb}" for verb in ("activation", "create", "delete", "update"))
_ORDERS = (("orders",), ("edit_orders",))
# For each resource, the permissions that allow reading and the permissions that allow writing. A staff member needs
# only one of the listed permissions.
REQUIRED_PERMISSIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "script_tags": (("themes", "applications"), ("themes",)),
    "products": (("products",), ("products",)),
    "product_listings": (("products",), ("products",)),
    "inventory": (("products",), ("products",)),
    "content": (("pages",), ("pages",)),
    "themes": (("themes",), ("themes",)),
    "theme_code": (("themes",), ("themes",)),
    "resource_feedbacks": (("applications", "products"), ("applications",)),
    "marketing_events": (("marketing",), ("marketing",)),
    "locations": (("locations", "products"), ("locations",)),
    "shipping": (("preferences",), ("preferences",)),
    "mobile_platform_applications": (("preferences",), ("preferences",)),
    "customers": (("customers",), ("customers",)),
    "orders": _ORDERS,
    "marketplace_orders": _ORDERS,
    "past_refunds": (("orders",), ("refund_orders",)),
    "draft_orders": (("draft_orders",), ("draft_orders",)),
    "gift_cards": (("gift_cards",), ("gift_cards",)),
    "price_rules": (("marketing",), ("marketing",)),
    "discounts": (("marketing",), ("marketing",)),
    "payment_handlers": (("platform_payments_accounts",), ("platform_payments_accounts",)),
    "fulfillments": _ORDERS,
    "merchant_managed_fulfillment_orders": _ORDERS,
    "assigned_fulfillment_orders": _ORDERS,
    "third_party_fulfillment_orders": _ORDERS,
    "payment_gateways": (("platform_payments_accounts",), ("platform_payments_accounts",)),
    "store_imports": (("preferences",), ("preferences",)),
    "users": (_STAFF, _STAFF),
    "metafields": (("preferences",), ("preferences",)),
}


@dataclass(frozen=True, slots=True)
class Member:
    """A staff member with current access to a shop. ``scopes`` are those of the member's own permissions."""

    user_id: int
    first_name: str
    last_name: str
    email: str
    locale: str
    account_owner: bool
    scopes: frozenset[str]
    may_install: bool
    may_refund: bool
    may_redirect: bool

    def limit_scopes(self, granted: Iterable[str]) -> frozenset[str]:
        return frozenset(granted) & self.scopes


def lock_member(user_id: int, shop: Shop) -> None:
    """Lock a membership until the transaction ends, so that a removal waits and then revokes the member's new token."""
    rows = Membership._base_manager.select_for_update(no_key=True).filter(user_id=user_id, shop=shop)
    rows.order_by("pk").values_list("pk", flat=True).first()


def find_member(user_id: int, shop: Shop) -> Member | None:
    """Return the staff member if they currently have access to the shop, or None. Results are never cached."""
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
        may_redirect=is_unrestricted or "content.change_redirect" in granted,
    )


def get_delegated_scopes(names: Iterable[str], view_only: Iterable[str] = ()) -> frozenset[str]:
    writes = frozenset(names)
    reads = writes | frozenset(view_only)
    return frozenset(scope for scope in SCOPES if _is_scope_allowed(scope, reads, writes))


def _is_scope_allowed(scope: str, reads: frozenset[str], writes: frozenset[str]) -> bool:
    verb, _, word = scope.partition("_")
    # Only account owners have scopes that are not in ``REQUIRED_PERMISSIONS``.
    reading, writing = REQUIRED_PERMISSIONS.get(word, ((), ()))
    return not reads.isdisjoint(reading) if verb == "read" else not writes.isdisjoint(writing)
