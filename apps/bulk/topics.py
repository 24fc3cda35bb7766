"""Audit log topics for bulk edits. Each changed row also has its own events."""

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.bulk.domain import edits
from apps.events.domain import topics
from apps.ground.types import Attrs


def _render_id(instance: Model, version: str) -> Attrs:
    return {"id": instance.pk}


def register_bulk_topics() -> None:
    """Register the topics. They have no scope, so no app can subscribe to them."""
    labels = {
        edits.STARTED: gettext_noop("Bulk edit started"),
        edits.FINISHED: gettext_noop("Bulk edit finished"),
        edits.STOPPED: gettext_noop("Bulk edit stopped"),
        edits.UNDONE: gettext_noop("Bulk edit undone"),
    }
    for name, label in labels.items():
        topics.register_topic(name, scope="", render=_render_id, label=label)
