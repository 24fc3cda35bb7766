"""Read and save how a staff member wants to be notified."""

from collections.abc import Collection, Iterable, Mapping

from django.db import transaction

from apps.core.tenancy.models import Membership
from apps.notifications.domain.notification_kinds import Kind
from apps.notifications.models import Preference

CHANNELS = ("panel", "sound", "browser", "email")


def get_preferences(member: Membership, kinds: Iterable[Kind]) -> dict[str, Preference]:
    """Return the member's preference for each kind, keyed by the kind's name. Unsaved rows have the defaults."""
    saved = {row.kind: row for row in Preference.rows().filter(member=member)}
    return {
        kind.name: saved.get(kind.name) or Preference(shop_id=member.shop_id, member=member, kind=kind.name)
        for kind in kinds
    }


@transaction.atomic
def save_preferences(member: Membership, chosen: Mapping[str, Collection[str]]) -> None:
    """Save the chosen channels of each kind, keyed by the kind's name. Preferences for other kinds do not change."""
    for kind in sorted(chosen):
        values = {channel: channel in chosen[kind] for channel in CHANNELS}
        Preference.objects.update_or_create(
            member=member, kind=kind, defaults=values, create_defaults={"shop_id": member.shop_id, **values}
        )
