"""Giving the metafields of one owner to another of its kind."""

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from apps.events.domain.recording import Happening, record_events
from apps.metafields.domain.owners import Owner
from apps.metafields.models import Metafield


def held_by(kind: Owner, owner_id: int) -> QuerySet[Metafield]:
    """An owner's metafields."""
    rows: QuerySet[Metafield] = Metafield.objects.filter(owner_resource=kind.resource, owner_id=owner_id)
    return rows


@transaction.atomic
def move(kind: Owner, source: int, target: int, *, replacing: bool, actor: str, at: datetime) -> None:
    """Give an owner's metafields to another, with their ids; both owners are held.

    Args:
        kind: What both are.
        source: The id of who has them.
        target: The id of who gets them.
        replacing: Whether those under a name that both use replace the target's; else they stay with the source.
        actor: Who.
        at: When.
    """
    rows = Metafield.objects.filter(owner_resource=kind.resource, owner_id__in=(source, target))
    held = list(rows.select_for_update().order_by("pk"))
    names = {owner: {(row.namespace, row.key) for row in held if row.owner_id == owner} for owner in (source, target)}
    both = names[source] & names[target]
    dropped = [row for row in held if row.owner_id == target and (row.namespace, row.key) in both and replacing]
    moved = [row for row in held if row.owner_id == source and (replacing or (row.namespace, row.key) not in both)]
    record_events([Happening(f"{kind.topics}/delete", row) for row in dropped], actor=actor, at=at)
    Metafield.objects.filter(pk__in=[row.pk for row in dropped]).delete()
    for row in moved:
        row.owner_id = target
    Metafield.objects.filter(pk__in=[row.pk for row in moved]).update(owner_id=target)
    told = [Happening(f"{kind.topics}/update", row, {"owner_id": [source, target]}) for row in moved]
    record_events(told, actor=actor, at=at)
