"""Manage the staff of a shop and their permissions.

Staff members cannot grant or revoke permissions that they lack, and cannot change their own membership. Only operators
can change the membership of an account owner, and a shop always has at least one account owner. Account owners and
operators have all permissions. Call these functions inside the shop scope.
"""

from collections.abc import Iterable
from datetime import datetime

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils.translation import gettext as _

from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError, RowDeleted
from apps.core.i18n.messages import define_text
from apps.core.tenancy.actor_names import get_staff_actor
from apps.core.tenancy.models import AccessToken, Membership, Shop, User
from apps.core.tenancy.permissions import NAMES, Level, Levels

USER_EXISTS = define_text("staff.user_exists", "already belongs to a user of this installation. Invite the user.")


class LastOwner(DomainError):
    pass


def find_user_by_name(name: str) -> User | None:
    memberships = Membership.objects.select_related("user").order_by("id")
    return next((member.user for member in memberships if member.user.get_full_name() == name), None)


def get_grantable_levels(by: User) -> Levels:
    all_names = dict.fromkeys(NAMES, Level.FULL)
    if by.is_superuser:
        return all_names
    membership = Membership.rows().filter(user=by).first()
    if membership is None:
        return {}
    return all_names if membership.account_owner else get_levels(membership)


def get_levels(membership: Membership) -> Levels:
    """Return the stored levels of a membership's permissions. The levels have no effect for account owners."""
    return _build_levels(membership.permissions, membership.view_only)


@transaction.atomic
def invite_member(
    shop: Shop,
    *,
    email: str,
    first_name: str,
    last_name: str,
    permissions: Iterable[str],
    view_only: Iterable[str] = (),
    by: User,
    at: datetime,
) -> Membership:
    """Create a membership, and a user without a password if the email address is new.

    A permission name in both lists gets full access.

    Raises:
        DomainError: The user already is a staff member of the shop.
        DomainError: The new permissions exceed the permissions of ``by``.
    """
    levels = _build_levels(permissions, view_only)
    _check_grant({}, levels, by)
    user = User.objects.filter(email=email.lower()).first()
    if user is None:
        user = User.objects.create_user(email, first_name=first_name, last_name=last_name)
    if Membership.rows().filter(user=user).exists():
        raise DomainError(_("is already a staff member of this shop"), field="email")
    membership = Membership(shop=shop, user=user)
    changes = {"permissions": [[], _filter_by_level(levels, Level.FULL)], **_apply_levels(membership, levels)}
    membership.save()
    record_event("staff/invite", membership, actor=get_staff_actor(by), at=at, changes=changes)
    return membership


@transaction.atomic
def create_inactive_member(
    shop: Shop, *, email: str, first_name: str, last_name: str, permissions: Iterable[str], actor: str, at: datetime
) -> Membership:
    """Create a membership with a new, deactivated user without a password, for example from another system.

    No email is sent. The user can log in after staff have activated the user and sent the invitation.

    Raises:
        DomainError: The email address is invalid, or this installation has a user with it.
    """
    try:
        validate_email(email)
    except ValidationError as error:
        raise DomainError(" ".join(error.messages), field="email") from None
    if User.objects.filter(email=email.lower()).exists():
        raise DomainError(USER_EXISTS, field="email")
    user = User.objects.create_user(email, first_name=first_name[:150], last_name=last_name[:150], is_active=False)
    levels = _build_levels(permissions, ())
    membership = Membership(shop=shop, user=user)
    changes = {"permissions": [[], _filter_by_level(levels, Level.FULL)], **_apply_levels(membership, levels)}
    membership.save()
    record_event("staff/invite", membership, actor=actor, at=at, changes=changes)
    return membership


@transaction.atomic
def change_permissions(
    membership: Membership, *, permissions: Iterable[str], view_only: Iterable[str] = (), by: User, at: datetime
) -> None:
    """Set a staff member's full and view-only permissions. A permission name in both lists gets full access.

    Raises:
        DomainError: ``by`` changes their own membership and is not an operator.
        DomainError: The staff member is an account owner and ``by`` is not an operator.
        DomainError: A changed permission exceeds the level of ``by``.
    """
    membership = _lock_membership(membership)
    _check_changeable(membership, by)
    old_levels, new_levels = get_levels(membership), _build_levels(permissions, view_only)
    _check_grant(old_levels, new_levels, by)
    if old_levels == new_levels:
        return
    changes = _apply_levels(membership, new_levels)
    membership.save(update_fields=("permissions", "view_only"))
    record_event("staff/update", membership, actor=get_staff_actor(by), at=at, changes=changes)


@transaction.atomic
def set_owner(membership: Membership, *, owner: bool, by: User, at: datetime) -> None:
    """Grant or revoke account ownership. Only operators may do this.

    Raises:
        DomainError: ``by`` is not an operator.
        LastOwner: The shop would have no account owner.
    """
    if not by.is_superuser:
        raise DomainError(_("Only operators can change account owners."))
    membership = _lock_membership(membership)
    if membership.account_owner == owner:
        return
    if not owner:
        _check_last_owner(membership)
    membership.account_owner = owner
    membership.save(update_fields=("account_owner",))
    record_event(
        "staff/update", membership, actor=get_staff_actor(by), at=at, changes={"account_owner": [not owner, owner]}
    )


@transaction.atomic
def remove_member(membership: Membership, *, by: User, at: datetime) -> None:
    """Delete a membership and revoke the user's tokens in the shop.

    Raises:
        DomainError: ``by`` removes their own membership and is not an operator.
        DomainError: The user is an account owner and ``by`` is not an operator.
        LastOwner: The user is the only account owner.
    """
    membership = _lock_membership(membership)
    _check_changeable(membership, by)
    _check_last_owner(membership)
    _revoke_tokens(membership, at)
    record_event("staff/remove", membership, actor=get_staff_actor(by), at=at)
    membership.delete()


@transaction.atomic
def set_active(membership: Membership, *, active: bool, by: User, at: datetime) -> None:
    """Activate or deactivate a user. The sessions of a deactivated user end with the next request.

    Deactivation also revokes the user's tokens in the shop.

    Raises:
        DomainError: ``by`` changes their own account and is not an operator.
        DomainError: The user is an account owner and ``by`` is not an operator.
        DomainError: The user works in other shops and ``by`` is not an operator.
    """
    membership = _lock_membership(membership)
    _check_changeable(membership, by)
    if not by.is_superuser and _works_elsewhere(membership):
        raise DomainError(
            _(
                "This staff member also works in other shops and can't be deactivated here. Remove the staff member "
                "from this shop instead."
            )
        )
    if membership.user.is_active == active:
        return
    User.objects.filter(pk=membership.user_id).update(is_active=active)
    membership.user.is_active = active
    if not active:
        _revoke_tokens(membership, at)
    topic = "staff/activate" if active else "staff/deactivate"
    record_event(topic, membership, actor=get_staff_actor(by), at=at, changes={"active": [not active, active]})


def _lock_membership(membership: Membership) -> Membership:
    """Lock all memberships of the shop, for the check of the last account owner, and return this membership."""
    rows = {row.pk: row for row in Membership.rows().select_for_update().order_by("pk").select_related("user")}
    if membership.pk not in rows:
        raise RowDeleted
    return rows[membership.pk]


def _check_changeable(membership: Membership, by: User) -> None:
    if by.is_superuser:
        return
    if membership.user_id == by.pk:
        raise DomainError(_("You can't change your own permissions or membership. Ask another staff member."))
    if membership.account_owner:
        raise DomainError(_("Only operators can change an account owner."))


def _check_last_owner(membership: Membership) -> None:
    if membership.account_owner and not Membership.rows().filter(account_owner=True).exclude(pk=membership.pk).exists():
        raise LastOwner(_("A shop needs at least one account owner. Add another account owner first."))


def _check_grant(before: Levels, after: Levels, by: User) -> None:
    grantable_levels = get_grantable_levels(by)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    higher = {name: max(before.get(name, Level.NONE), after.get(name, Level.NONE)) for name in changed}
    if exceeding := sorted(name for name, level in higher.items() if level > grantable_levels.get(name, Level.NONE)):
        template = _("cannot be granted or revoked because you do not have them: {names}")
        raise DomainError(template.format(names=", ".join(exceeding)), field="permissions")


def _build_levels(permissions: Iterable[str], view_only: Iterable[str]) -> Levels:
    return dict.fromkeys(view_only, Level.VIEW) | dict.fromkeys(permissions, Level.FULL)


def _filter_by_level(levels: Levels, level: Level) -> list[str]:
    return sorted(name for name, current_level in levels.items() if current_level == level)


def _apply_levels(membership: Membership, levels: Levels) -> dict[str, list[list[str]]]:
    changes = {}
    for field, level in (("permissions", Level.FULL), ("view_only", Level.VIEW)):
        old_names, new_names = sorted(getattr(membership, field)), _filter_by_level(levels, level)
        if old_names != new_names:
            changes[field] = [old_names, new_names]
        setattr(membership, field, new_names)
    return changes


def _works_elsewhere(membership: Membership) -> bool:
    # The base manager also returns memberships in other shops.
    other_memberships = Membership._base_manager.filter(user_id=membership.user_id).exclude(shop_id=membership.shop_id)
    return bool(membership.user.is_superuser or other_memberships.exists())


def _revoke_tokens(membership: Membership, at: datetime) -> None:
    AccessToken.rows().filter(user_id=membership.user_id, revoked_at=None).update(revoked_at=at)
