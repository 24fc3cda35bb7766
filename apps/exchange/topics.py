"""What the audit trail notes of files that went out and came in."""

from django.db.models import Model
from django.utils.translation import gettext, gettext_noop

from apps.events.domain import topics
from apps.exchange.domain import imports
from apps.exchange.domain.kinds import exporters, named
from apps.ground.attrs import Attrs
from apps.ground.retelling import tells

_EXPORTED = tells(gettext_noop("{what} exported"), what=gettext)


def _nothing(instance: Model, version: str) -> Attrs:
    return {"id": instance.pk}


def register_all() -> None:
    """Add the topics, one for each kind that goes out; that of orders is theirs."""
    labels = {
        imports.UPLOADED: gettext_noop("File uploaded for import"),
        imports.MAPPED: gettext_noop("Columns of an import explained"),
        imports.CONFIRMED: gettext_noop("Import confirmed"),
        imports.FINISHED: gettext_noop("Import finished"),
        **{exporter.topic: _EXPORTED.format(what=named(name).label) for name, exporter in exporters().items()},
    }
    for name in labels.keys() - {topic.name for topic in topics.all_topics()}:
        # For the audit trail alone: no scope opens them to apps.
        topics.register(name, scope="", render=_nothing, label=labels[name])
