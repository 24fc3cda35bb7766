"""Audit log topics for imports of stores in the background."""

from django.utils.translation import gettext_noop

from apps.core.events.topics import Topic, topics
from apps.store_imports.domain import background_runs

_LABELS = {
    background_runs.STARTED: gettext_noop("Import of a store started"),
    background_runs.PAUSED: gettext_noop("Import of a store paused"),
    background_runs.ENDED: gettext_noop("Import of a store ended"),
}
for _name, _label in _LABELS.items():
    # The topics have no scope, so no app can subscribe to them.
    topics.add(Topic(name=_name, render=lambda row, version: {"id": row.pk}, label=_label))
