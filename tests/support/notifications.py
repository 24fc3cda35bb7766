"""Helpers for tests of notifications."""

from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Membership, Shop, User
from apps.core.tenancy.scope import shop_scope
from apps.notifications.domain import batches
from apps.notifications.domain.preferences import CHANNELS, save_preferences
from apps.notifications.models import Notification
from tests.support.panel.client import get_membership


def choose(user: User, shop: Shop, **channels: str) -> Membership:
    """Save the channels that a member chooses for kinds, such as ``new_order="email panel"``."""
    member = get_membership(user, shop)
    with shop_scope(shop):
        save_preferences(member, {kind: set(chosen.split()) for kind, chosen in channels.items()})
    assert set(" ".join(channels.values()).split()) <= set(CHANNELS)
    return member


def get_recorded(shop: Shop, kind: str) -> list[int]:
    """Return the ids of the objects in notifications of a kind, oldest first."""
    with shop_scope(shop):
        return list(Notification.rows().filter(kind=kind).order_by("id").values_list("subject_id", flat=True))


def run_email_jobs(shop: Shop) -> int:
    """Run the waiting email jobs of a shop, and return their number."""
    with shop_scope(shop):
        keys = list(
            Job.rows().filter(task=batches.SEND_TASK, state="waiting").order_by("pk").values_list("key", flat=True)
        )
    for key in keys:
        assert queue.run_job(key)
    return len(keys)
