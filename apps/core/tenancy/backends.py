"""Authentication backend with permissions per shop membership.

Permissions are not cached across requests, so a change takes effect with the next request.
"""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db.models import Model
from django_scopes import get_scope

from apps.core.tenancy.models import Membership, User
from apps.core.tenancy.permissions import get_granted_permissions


class MembershipBackend(ModelBackend):
    """Authenticates users by email and password. Permissions apply to the current shop only."""

    def get_all_permissions(self, user_obj: AbstractBaseUser | AnonymousUser, obj: Model | None = None) -> set[str]:
        membership = get_current_membership(user_obj) if obj is None else None
        return set(_get_permissions(membership)) if membership else set()

    def has_perm(self, user_obj: AbstractBaseUser | AnonymousUser, perm: str, obj: Model | None = None) -> bool:
        """Return True if the user has the permission in the current shop. Account owners have all permissions."""
        membership = get_current_membership(user_obj)
        return membership is not None and (membership.account_owner or perm in _get_permissions(membership))

    def has_module_perms(self, user_obj: AbstractBaseUser | AnonymousUser, app_label: str) -> bool:
        membership = get_current_membership(user_obj)
        return membership is not None and (
            membership.account_owner
            or any(permission.startswith(f"{app_label}.") for permission in _get_permissions(membership))
        )

    def with_perm(self, *args: Any, **kwargs: Any) -> Any:
        """Raise a ``TypeError``, because permissions depend on the shop, which this query does not know."""
        raise TypeError("Permissions depend on the shop. Query the memberships instead.")


def _get_permissions(membership: Membership) -> frozenset[str]:
    return get_granted_permissions(membership.permissions, membership.view_only)


def get_current_membership(user: AbstractBaseUser | AnonymousUser) -> Membership | None:
    """Return an active user's membership in the current shop, loaded once per request."""
    shop = get_scope().get("shop")
    if shop is None or not isinstance(user, User) or not user.is_active:
        return None
    cached: tuple[int, Membership | None] | None = getattr(user, "_membership", None)
    if cached is None or cached[0] != shop.pk:
        membership = Membership.objects.filter(shop=shop, user=user).first()
        cached = (shop.pk, membership)
        user._membership = cached  # type: ignore[attr-defined]
    return cached[1]
