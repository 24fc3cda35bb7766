"""What the audit trail notes of bulk edits; what becomes of each row is told by the row's own events."""

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.bulk.domain import edits
from apps.events.domain import topics
from apps.ground.attrs import Attrs


def _nothing(instance: Model, version: str) -> Attrs:
    return {"id": instance.pk}


def register_all() -> None:
    """Add the topics; no scope opens them to apps."""
    labels = {
        edits.STARTED: gettext_noop("Bulk edit begun"),
        edits.FINISHED: gettext_noop("Bulk edit finished"),
        edits.STOPPED: gettext_noop("Bulk edit stopped"),
        edits.UNDO: gettext_noop("Bulk edit taken back"),
    }
    for name, label in labels.items():
        topics.register(name, scope="", render=_nothing, label=label)
