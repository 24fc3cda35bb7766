"""Count the notifications that a staff member has not seen, and mark them as seen.

A member has seen a notification if they have opened the list of its objects since. Notifications from before the member
joined the shop, and of the member's own changes, do not count.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from apps.core.tenancy.actor_names import get_staff_actor
from apps.core.tenancy.models import Membership, User
from apps.notifications.domain.notification_kinds import Kind
from apps.notifications.models import Notification, SeenMark

MAX_COUNT = 99


@dataclass(frozen=True, slots=True)
class Unseen:
    """The unseen notifications of a kind. ``count`` is at most ``MAX_COUNT``, and ``latest`` is the newest id or 0."""

    kind: Kind
    count: int
    has_more: bool
    latest: int

    @property
    def number(self) -> str:
        return f"{self.count}+" if self.has_more else str(self.count)

    @property
    def text(self) -> str:
        return self.kind.get_text(self.count, self.number) if self.count else ""


def count_unseen(member: Membership, user: User, kinds: Iterable[Kind]) -> list[Unseen]:
    """Count unseen notifications with one query per kind. A query reads at most 100 notifications."""
    marks = dict(SeenMark.rows().filter(member=member).values_list("kind", "seen_through"))
    return [_count(member, user, kind, marks.get(kind.name, 0)) for kind in kinds]


def _count(member: Membership, user: User, kind: Kind, seen_through: int) -> Unseen:
    rows = Notification.rows().filter(kind=kind.name, id__gt=seen_through).exclude(actor=get_staff_actor(user))
    newest = rows.order_by("-id").values_list("id", "created_at")[: MAX_COUNT + 1]
    ids = [pk for pk, created_at in newest if created_at >= member.created_at]
    return Unseen(kind, min(len(ids), MAX_COUNT), len(ids) > MAX_COUNT, max(ids, default=0))


def mark_seen(member: Membership, kind: Kind, *, through: datetime) -> bool:
    """Mark the notifications up to a time as seen. Return False if they already were. A mark never moves back."""
    rows = Notification.rows().filter(kind=kind.name, created_at__lte=through)
    newest = rows.order_by("-id").values_list("id", flat=True).first()
    if newest is None:
        return False
    marks = SeenMark.rows().filter(member=member, kind=kind.name)
    is_moved = marks.filter(seen_through__lt=newest).update(seen_through=newest)
    if not is_moved and not marks.exists():
        # Another request may insert the mark at the same time.
        SeenMark.objects.bulk_create(
            [SeenMark(shop_id=member.shop_id, member=member, kind=kind.name)], ignore_conflicts=True
        )
        is_moved = marks.filter(seen_through__lt=newest).update(seen_through=newest)
    return bool(is_moved)
