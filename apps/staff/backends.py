"""Permissions by membership: what a staff member may do in the shop they are in.

Nothing is cached on the user: a change takes effect with the next request.
"""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db.models import Model
from django_scopes import get_scope

from apps.staff.domain.permissions import granted_by
from apps.staff.models import Membership, User


class MembershipBackend(ModelBackend):
    """Logs in by e-mail and password, and answers ``has_perm`` for the current shop only."""

    def get_all_permissions(self, user_obj: AbstractBaseUser | AnonymousUser, obj: Model | None = None) -> set[str]:
        """The Django permissions of a user in the shop of the current scope; none outside of a shop."""
        if not isinstance(user_obj, User) or not user_obj.is_active or obj is not None:
            return set()
        membership = current_membership(user_obj)
        return set(_granted(membership)) if membership else set()

    def has_perm(self, user_obj: AbstractBaseUser | AnonymousUser, perm: str, obj: Model | None = None) -> bool:
        """Whether the user may do it here: owners everything, others what their names allow."""
        if not isinstance(user_obj, User) or not user_obj.is_active:
            return False
        membership = current_membership(user_obj)
        if membership is None:
            return False
        return membership.account_owner or perm in _granted(membership)

    def has_module_perms(self, user_obj: AbstractBaseUser | AnonymousUser, app_label: str) -> bool:
        """Whether any permission of an app is held here."""
        if not isinstance(user_obj, User) or not user_obj.is_active:
            return False
        membership = current_membership(user_obj)
        if membership is None:
            return False
        prefix = f"{app_label}."
        return membership.account_owner or any(perm.startswith(prefix) for perm in _granted(membership))

    def with_perm(self, *args: Any, **kwargs: Any) -> Any:
        """Not offered: who may do what depends on the shop."""
        raise TypeError("Permissions depend on the shop; ask the memberships.")


def _granted(membership: Membership) -> frozenset[str]:
    return granted_by(membership.permissions, membership.view_only)


def current_membership(user: User) -> Membership | None:
    """The user's membership in the shop we are in, read once per request."""
    shop = get_scope().get("shop")
    if shop is None:
        return None
    remembered: tuple[int, Membership | None] | None = getattr(user, "_membership", None)
    if remembered is None or remembered[0] != shop.pk:
        membership = Membership.objects.filter(shop=shop, user=user).first()
        remembered = (shop.pk, membership)
        user._membership = remembered  # type: ignore[attr-defined]
    return remembered[1]
