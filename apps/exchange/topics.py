"""Audit log topics for imports and exports."""

from django.db.models import Model
from django.utils.translation import gettext, gettext_noop

from apps.events.domain import topics
from apps.exchange.domain import imports
from apps.exchange.domain.resources import get_exporters, get_resource
from apps.ground.stored_messages import register_message
from apps.ground.types import Attrs

_EXPORTED = register_message(gettext_noop("{what} exported"), what=gettext)


def _render_id(instance: Model, version: str) -> Attrs:
    return {"id": instance.pk}


def register_exchange_topics() -> None:
    """Register the import topics, and one topic per exported resource. The orders app registers its own topic."""
    labels = {
        imports.UPLOADED: gettext_noop("Import file uploaded"),
        imports.MAPPED: gettext_noop("Import columns mapped"),
        imports.CONFIRMED: gettext_noop("Import confirmed"),
        imports.FINISHED: gettext_noop("Import finished"),
        **{
            exporter.topic: _EXPORTED.format(what=get_resource(name).label)
            for name, exporter in get_exporters().items()
        },
    }
    for name in labels.keys() - {topic.name for topic in topics.get_all_topics()}:
        # The topic has no scope, so no app can subscribe to it.
        topics.register_topic(name, scope="", render=_render_id, label=labels[name])
