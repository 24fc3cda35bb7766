"""What the audit trail notes of bulk edits; what becomes of each row is told by the row's own events."""

from django.db.models import Model

from apps.bulk.domain import edits
from apps.events.domain import topics
from apps.ground.attrs import Attrs


def _nothing(instance: Model, version: str) -> Attrs:
    return {"id": instance.pk}


def register_all() -> None:
    """Add the topics; no scope opens them to apps."""
    labels = {
        edits.STARTED: "Bulk edit begun",
        edits.FINISHED: "Bulk edit finished",
        edits.STOPPED: "Bulk edit stopped",
        edits.UNDO: "Bulk edit taken back",
    }
    for name, label in labels.items():
        topics.register(name, scope="", render=_nothing, label=label)
