"""Audit log topics for bulk edits. Each changed row also has its own events."""

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.bulk_edits.domain import edits
from apps.core.events.topics import Topic, topics
from apps.core.types import Attrs


def _render_id(instance: Model, version: str) -> Attrs:
    return {"id": instance.pk}


labels = {
    edits.STARTED: gettext_noop("Bulk edit started"),
    edits.FINISHED: gettext_noop("Bulk edit finished"),
    edits.STOPPED: gettext_noop("Bulk edit stopped"),
    edits.UNDONE: gettext_noop("Bulk edit undone"),
}
for name, label in labels.items():
    topics.add(Topic(name=name, render=_render_id, label=label))
