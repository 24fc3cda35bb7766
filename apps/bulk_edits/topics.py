"""Audit log topics for bulk edits. Each changed row also has its own events."""

from django.utils.translation import gettext_noop

from apps.bulk_edits.domain import edits
from apps.core.events.topics import Topic, topics

labels = {
    edits.STARTED: gettext_noop("Bulk edit started"),
    edits.FINISHED: gettext_noop("Bulk edit finished"),
    edits.STOPPED: gettext_noop("Bulk edit stopped"),
    edits.UNDONE: gettext_noop("Bulk edit undone"),
}
for name, label in labels.items():
    topics.add(Topic(name=name, render=lambda edit, version: {"id": edit.pk}, label=label))
