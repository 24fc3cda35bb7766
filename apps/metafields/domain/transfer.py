"""Transfer metafields from one owner to another owner of the same type."""

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from apps.core.events.recording import EventInput, record_events
from apps.metafields.domain.owners import OwnerType
from apps.metafields.models import Metafield


def get_owner_metafields(kind: OwnerType, owner_id: int) -> QuerySet[Metafield]:
    return Metafield.objects.filter(owner_resource=kind.resource, owner_id=owner_id)


@transaction.atomic
def transfer_metafields(
    kind: OwnerType, source: int, target: int, *, replacing: bool, actor: str, at: datetime
) -> None:
    """Transfer metafields from one owner ID to another, keeping their IDs. The caller must have locked both owners.

    If both owners have a metafield with the same namespace and key, the target's metafield is replaced, or the source
    keeps its metafield if ``replacing`` is false.
    """
    rows = Metafield.objects.filter(owner_resource=kind.resource, owner_id__in=(source, target))
    locked_rows = list(rows.select_for_update().order_by("pk"))
    names = {
        owner: {(row.namespace, row.key) for row in locked_rows if row.owner_id == owner} for owner in (source, target)
    }
    common_names = names[source] & names[target]
    replaced_rows = [
        row for row in locked_rows if row.owner_id == target and (row.namespace, row.key) in common_names and replacing
    ]
    moved_rows = [
        row
        for row in locked_rows
        if row.owner_id == source and (replacing or (row.namespace, row.key) not in common_names)
    ]
    record_events([EventInput(f"{kind.topic_prefix}/delete", row) for row in replaced_rows], actor=actor, at=at)
    Metafield.objects.filter(pk__in=[row.pk for row in replaced_rows]).delete()
    for row in moved_rows:
        row.owner_id = target
    Metafield.objects.filter(pk__in=[row.pk for row in moved_rows]).update(owner_id=target)
    events = [EventInput(f"{kind.topic_prefix}/update", row, {"owner_id": [source, target]}) for row in moved_rows]
    record_events(events, actor=actor, at=at)
