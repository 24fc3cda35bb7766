"""Who works in a shop, and what they may do there.

Rules: nobody grants or takes what they lack themselves; nobody changes their own place; an owner's place is changed by
the operator alone, and a shop keeps its last owner. Owners and operators lack nothing. Call within the shop's scope.
"""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from apps.events.domain.recording import record_event
from apps.ground.errors import DomainError, Gone
from apps.shops.models import AccessToken, Shop
from apps.staff.domain.actors import actor_of
from apps.staff.domain.permissions import NAMES, Level, Levels
from apps.staff.models import Membership, User


class AlreadyHere(DomainError):
    """The person works in this shop already."""

    code = "already_here"
    field = "email"


class OwnPlace(DomainError):
    """Nobody changes their own place."""

    code = "own_place"


class OwnerProtected(DomainError):
    """An owner's place is changed by the operator alone."""

    code = "owner_protected"


class LastOwner(DomainError):
    """A shop keeps its last owner."""

    code = "last_owner"


class BeyondYourOwn(DomainError):
    """Nobody grants or takes what they lack themselves."""

    code = "beyond_your_own"
    field = "permissions"


class WorksElsewhere(DomainError):
    """The person works in other shops too, whose staff have a say."""

    code = "works_elsewhere"


def person_named(name: str) -> User | None:
    """Who works in this shop under a full name; of two, the one who came first."""
    members = Membership.objects.select_related("user").order_by("id")
    return next((member.user for member in members if member.user.get_full_name() == name), None)


def grantable(by: User) -> Levels:
    """The names that somebody may grant and take in this shop, each up to a level."""
    everything = dict.fromkeys(NAMES, Level.FULL)
    if by.is_superuser:
        return everything
    place = Membership.rows().filter(user=by).first()
    if place is None:
        return {}
    return everything if place.account_owner else levels_of(place)


def levels_of(place: Membership) -> Levels:
    """How somebody holds their permission names, apart from owning the shop."""
    return _levels(place.permissions, place.view_only)


@transaction.atomic
def invite(
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
    """Give a person a place in a shop; somebody new gets a user without a password.

    What is in both lists is held fully.

    Raises:
        AlreadyHere: They have a place.
        BeyondYourOwn: A permission is granted that ``by`` lacks, or fully where ``by`` may only view.
    """
    levels = _levels(permissions, view_only)
    _check_grant({}, levels, by)
    user = User.objects.filter(email=email.lower()).first()
    if user is None:
        user = User.objects.create_user(email, first_name=first_name, last_name=last_name)
    if Membership.rows().filter(user=user).exists():
        raise AlreadyHere(_("works in this shop already"))
    place = Membership(shop=shop, user=user)
    changes = {"permissions": [[], _held(levels, Level.FULL)], **_set(place, levels)}
    place.save()
    record_event("staff/invite", place, actor=actor_of(by), at=at, changes=changes)
    return place


@transaction.atomic
def change_permissions(
    place: Membership, *, permissions: Iterable[str], view_only: Iterable[str] = (), by: User, at: datetime
) -> None:
    """Set what somebody may do, and what they may only view; what is in both lists is held fully.

    Raises:
        OwnPlace: It is their own.
        OwnerProtected: They own the shop.
        BeyondYourOwn: A name is added, removed or held otherwise at a level that ``by`` lacks.
    """
    place = _locked(place)
    _check_place(place, by)
    before, after = levels_of(place), _levels(permissions, view_only)
    _check_grant(before, after, by)
    if before == after:
        return
    changes = _set(place, after)
    place.save(update_fields=("permissions", "view_only"))
    record_event("staff/update", place, actor=actor_of(by), at=at, changes=changes)


@transaction.atomic
def set_owner(place: Membership, *, owner: bool, by: User, at: datetime) -> None:
    """Make somebody an owner, or no longer; for the operator.

    Raises:
        OwnerProtected: ``by`` is no operator.
        LastOwner: There would be none left.
    """
    if not by.is_superuser:
        raise OwnerProtected(_("Only the operator says who owns a shop."))
    place = _locked(place)
    if place.account_owner == owner:
        return
    if not owner:
        _check_last_owner(place)
    place.account_owner = owner
    place.save(update_fields=("account_owner",))
    record_event("staff/update", place, actor=actor_of(by), at=at, changes={"account_owner": [not owner, owner]})


@transaction.atomic
def remove(place: Membership, *, by: User, at: datetime) -> None:
    """Take somebody's place in the shop away; their tokens here are useless at once.

    Raises:
        OwnPlace: It is their own.
        OwnerProtected: They own the shop and ``by`` is no operator.
        LastOwner: They are its only owner.
    """
    place = _locked(place)
    _check_place(place, by)
    _check_last_owner(place)
    _revoke_tokens(place, at)
    record_event("staff/remove", place, actor=actor_of(by), at=at)
    place.delete()


@transaction.atomic
def set_active(place: Membership, *, active: bool, by: User, at: datetime) -> None:
    """Let somebody log in, or no longer: their sessions and tokens end with the next request.

    Raises:
        OwnPlace: It is their own.
        OwnerProtected: They own the shop and ``by`` is no operator.
        WorksElsewhere: They have a place in another shop and ``by`` is no operator.
    """
    place = _locked(place)
    _check_place(place, by)
    if not by.is_superuser and _works_elsewhere(place):
        raise WorksElsewhere(_("They work in other shops too. Remove them from this shop instead."))
    if place.user.is_active == active:
        return
    User.objects.filter(pk=place.user_id).update(is_active=active)
    place.user.is_active = active
    if not active:
        _revoke_tokens(place, at)
    topic = "staff/activate" if active else "staff/deactivate"
    record_event(topic, place, actor=actor_of(by), at=at, changes={"active": [not active, active]})


def _locked(place: Membership) -> Membership:
    """The place as it is now, held until the transaction ends; all of them, for they decide who is the last owner.

    Raises:
        Gone: It was taken away meanwhile.
    """
    rows = {row.pk: row for row in Membership.rows().select_for_update().order_by("pk").select_related("user")}
    if place.pk not in rows:
        raise Gone
    return rows[place.pk]


def _check_place(place: Membership, by: User) -> None:
    if by.is_superuser:
        return
    if place.user_id == by.pk:
        raise OwnPlace(_("Nobody changes their own permissions or place. Ask somebody else."))
    if place.account_owner:
        raise OwnerProtected(_("The account owner's place is changed by the operator only."))


def _check_last_owner(place: Membership) -> None:
    if place.account_owner and not Membership.rows().filter(account_owner=True).exclude(pk=place.pk).exists():
        raise LastOwner(_("A shop keeps its last owner. Make somebody else an owner first."))


def _check_grant(before: Levels, after: Levels, by: User) -> None:
    """Both what is given and what is taken must be within what ``by`` holds."""
    own = grantable(by)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    higher = {name: max(before.get(name, Level.NONE), after.get(name, Level.NONE)) for name in changed}
    if beyond := sorted(name for name, level in higher.items() if level > own.get(name, Level.NONE)):
        said = _("cannot be granted by somebody who lacks them: {names}")
        raise BeyondYourOwn(said.format(names=", ".join(beyond)))


def _levels(permissions: Iterable[str], view_only: Iterable[str]) -> Levels:
    return dict.fromkeys(view_only, Level.VIEW) | dict.fromkeys(permissions, Level.FULL)


def _held(levels: Levels, level: Level) -> list[str]:
    return sorted(name for name, held in levels.items() if held == level)


def _set(place: Membership, levels: Levels) -> dict[str, list[list[str]]]:
    """Put levels into a place; answers what changed, as the audit trail keeps it."""
    changes = {}
    for field, level in (("permissions", Level.FULL), ("view_only", Level.VIEW)):
        before, after = sorted(getattr(place, field)), _held(levels, level)
        if before != after:
            changes[field] = [before, after]
        setattr(place, field, after)
    return changes


def _works_elsewhere(place: Membership) -> bool:
    # The base manager, as the question is about the person and not about the shop we are in.
    others = Membership._base_manager.filter(user_id=place.user_id).exclude(shop_id=place.shop_id)
    return bool(place.user.is_superuser or others.exists())


def _revoke_tokens(place: Membership, at: datetime) -> None:
    AccessToken.rows().filter(user_id=place.user_id, revoked_at=None).update(revoked_at=at)
