"""Audit log topics for imports and exports."""

from django.utils.translation import gettext_noop

from apps.core.events.topics import Topic, topics
from apps.core.i18n.messages import define_message
from apps.imports_exports.domain import imports, saved_mappings
from apps.imports_exports.domain.resources import get_exporters
from apps.imports_exports.models import resource_labels

_EXPORTED = define_message("imports.exported", "{what} exported")


labels = {
    imports.UPLOADED: gettext_noop("Import file uploaded"),
    imports.MAPPED: gettext_noop("Import columns mapped"),
    imports.ENCODED: gettext_noop("Import encoding chosen"),
    imports.CONFIRMED: gettext_noop("Import confirmed"),
    saved_mappings.SAVED: gettext_noop("Column mapping saved"),
    saved_mappings.DELETED: gettext_noop("Column mapping deleted"),
    imports.FINISHED: gettext_noop("Import finished"),
    **{exporter.topic: _EXPORTED(what=resource_labels[name]) for name, exporter in get_exporters().items()},
}
for name, label in labels.items():
    # The orders app has already registered its topic. The others have no scope, so no app can subscribe to them.
    if name not in topics:
        topics.add(Topic(name=name, render=lambda row, version: {"id": row.pk}, label=label))
