"""Import the staff of a store as deactivated users without a password. No email is sent.

Staff of this shop activate each user and send the invitation. An import never gives access to an existing user, and
never changes a member of the shop, because the permissions of staff are managed in the shop.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from django.db.models import Model, QuerySet

from apps.core.i18n.messages import Message, define_message, define_text, join_messages
from apps.core.tenancy.models import Membership
from apps.core.tenancy.permissions import NAMES
from apps.core.tenancy.scope import get_current_shop
from apps.staff.domain.memberships import create_inactive_member
from apps.store_imports.domain.comparison import Comparison
from apps.store_imports.domain.source_client import SourceObject, refuse_malformed, sort_by_id
from apps.store_imports.domain.streams import ACTOR, ObjectResult, Outcome, Source, write_in_savepoint
from apps.store_imports.resources.optional_lists import OptionalStream

# Names of permissions that begin with the name of another platform.
_PAYMENTS = re.compile(r"\A[a-z]+(?=_payments_(?:accounts|transfers)\Z)")
_NEVER_CHANGED = "staff are not changed after they were imported"
_UNKNOWN = define_message("store_imports.unknown_permissions", "These permissions do not exist in this shop: {names}")
_OWNER = define_text(
    "store_imports.account_owner",
    "The user is the account owner of the store, but not of this shop. An operator can change this.",
)


class StaffStream(OptionalStream):
    name = "staff"
    resource = "user"
    model: ClassVar[type[Model]] = Membership
    path = "users.json"
    can_be_forbidden = True
    comparison = Comparison(
        read=None,
        not_compared={
            **dict.fromkeys(("permissions", "account_owner", "user_type"), "permissions are managed in this shop"),
        },
        limits=dict.fromkeys(("email", "first_name", "last_name"), _NEVER_CHANGED),
    )

    def get_own_objects(self) -> QuerySet[Any]:
        """Return nothing, because each shop has its own staff."""
        return Membership.objects.none()

    def read_own(self, source: Source, target_ids: Collection[int]) -> Mapping[int, SourceObject]:
        names = ("email", "first_name", "last_name")
        rows = Membership.objects.filter(pk__in=target_ids).select_related("user")
        return {row.pk: {name: getattr(row.user, name) for name in names} for row in rows}

    def normalize_pair(self, source: Source, theirs: SourceObject, ours: SourceObject) -> None:
        theirs["email"] = str(theirs["email"]).lower()

    def count_listed(self, source: Source) -> int | None:
        return None

    def read_list(self, source: Source, position: int) -> Sequence[SourceObject]:
        """Return all users after ``position``, because the list of users has no ``since_id``."""
        return sort_by_id(self.name, list(source.client.iterate_pages(self.path, "users")), position)

    def write_listed(self, source: Source, objects: Sequence[SourceObject]) -> Sequence[ObjectResult]:
        known = source.ids.get_target_ids(self.resource, [row["id"] for row in objects])
        members = Membership.objects.in_bulk(list(known.values()))
        by_email = {email.lower(): pk for email, pk in Membership.objects.values_list("user__email", "pk")}
        results = []
        for row in objects:
            with refuse_malformed(self.name, row):
                email = str(row["email"]).lower()
            if known.get(row["id"]) in members:
                results.append(ObjectResult(Outcome.UNCHANGED, known[row["id"]]))
            elif email in by_email:
                results.append(ObjectResult(Outcome.UNCHANGED, by_email[email]))
            else:
                result = write_in_savepoint(partial(_create_member, source, row))
                # A user of another shop is a note, because every later run would fail.
                is_refused = result.outcome == Outcome.FAILED
                results.append(ObjectResult(Outcome.UNCHANGED, problem=result.problem) if is_refused else result)
        return results


def _create_member(source: Source, row: SourceObject) -> ObjectResult:
    names = [_PAYMENTS.sub("platform", str(name)) for name in row.get("permissions") or ()]
    member = create_inactive_member(
        get_current_shop(),
        email=str(row["email"]),
        first_name=str(row.get("first_name") or ""),
        last_name=str(row.get("last_name") or ""),
        permissions=[name for name in names if name in NAMES],
        actor=ACTOR,
        at=source.at,
    )
    problems: list[Message] = [_OWNER] if row.get("account_owner") else []
    if unknown := sorted(set(names) - set(NAMES)):
        problems.append(_UNKNOWN(names=", ".join(unknown)))
    return ObjectResult(Outcome.NEW, member.pk, join_messages(problems) if problems else None)
