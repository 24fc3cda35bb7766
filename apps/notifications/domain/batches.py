"""Collect notifications into batches, and enqueue an email about each batch for every member who wants one.

A shop has at most one batch of a kind per ``PAUSE``, so an email lists all new orders of some minutes. A batch is
marked in the same transaction in which its jobs are enqueued. If the process dies, either both or neither remain, so
no notification is lost or reported by two batches.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max

from apps.core.jobs import queue
from apps.core.tenancy.actor_names import get_staff_actor
from apps.core.tenancy.models import Membership, Shop, User
from apps.core.tenancy.scope import get_current_shop, shop_scope
from apps.notifications.domain.notification_kinds import Kind, kinds
from apps.notifications.models import Notification, Preference

SEND_TASK = "notifications.send_email"
PAUSE = timedelta(minutes=5)
MAX_LISTED = 10


@dataclass(frozen=True, slots=True)
class Digest:
    """The content of an email: the number of notifications, and the names of the first objects by id."""

    kind: Kind
    user: User
    count: int
    names: dict[int, str]

    @property
    def unlisted(self) -> int:
        return self.count - len(self.names)


def enqueue_due_batches(at: datetime) -> int:
    """Start the batches that are due in all shops. Return the number of notifications in the batches."""
    waiting = Notification.objects.filter(batched_at=None).order_by().values_list("shop_id", "kind").distinct()
    kinds_by_shop: dict[int, list[Kind]] = {}
    for shop_id, name in waiting:
        # Processes of another release may record other kinds.
        if name in kinds:
            kinds_by_shop.setdefault(shop_id, []).append(kinds[name])
    count = 0
    for shop in Shop.objects.filter(pk__in=kinds_by_shop, read_only_at=None).order_by("pk"):
        with shop_scope(shop):
            count += sum(enqueue_batch(kind, at=at) for kind in kinds_by_shop[shop.pk])
    return count


@transaction.atomic
def enqueue_batch(kind: Kind, *, at: datetime) -> int:
    """Start the next batch of a kind in the current shop, unless the last batch is too recent.

    Return the number of notifications in the batch. A staging copy sends no emails, so its batches enqueue no jobs.
    """
    shop = get_current_shop()
    rows = Notification.rows().filter(kind=kind.name)
    last: datetime | None = rows.aggregate(last=Max("batched_at"))["last"]
    # A time in the future means that a clock was wrong.
    if last is not None and last <= at < last + PAUSE:
        return 0
    # A concurrent run waits here, and then finds no rows.
    count = rows.filter(batched_at=None).update(batched_at=at)
    if count and not shop.copied_from:
        wanted = Preference.rows().filter(kind=kind.name, email=True, member__user__is_active=True).order_by("pk")
        arguments = [
            {"member_id": member_id, "kind": kind.name, "batch": at.isoformat()}
            for member_id in wanted.values_list("member_id", flat=True)
        ]
        if arguments:
            queue.enqueue_many(SEND_TASK, arguments)
    return count


def find_digest(member_id: int, name: str, batch: datetime) -> Digest | None:
    """Return the content of a member's email, or None if the member may not or does not want to get it any more."""
    member = Membership.rows().select_related("user").filter(pk=member_id, user__is_active=True).first()
    kind = kinds.get(name)
    if member is None or kind is None or not member.user.has_perm(kind.permission):
        return None
    if not Preference.rows().filter(member=member, kind=name, email=True).exists():
        return None
    rows = Notification.rows().filter(kind=name, batched_at=batch).exclude(actor=get_staff_actor(member.user))
    # An item can become low several times.
    subject_ids = rows.order_by().values("subject_id").distinct()
    count = subject_ids.count()
    first = list(subject_ids.order_by("subject_id").values_list("subject_id", flat=True)[:MAX_LISTED])
    return Digest(kind, member.user, count, dict(kind.get_names(first))) if count else None
