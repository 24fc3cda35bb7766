"""What the audit trail notes of files that went out and came in."""

from django.db.models import Model

from apps.events.domain import topics
from apps.exchange.domain import imports
from apps.exchange.domain.kinds import exporters, named
from apps.ground.attrs import Attrs


def _nothing(instance: Model, version: str) -> Attrs:
    return {"id": instance.pk}


def register_all() -> None:
    """Add the topics, one for each kind that goes out; that of orders is theirs."""
    labels = {
        imports.UPLOADED: "File uploaded for import",
        imports.MAPPED: "Columns of an import explained",
        imports.CONFIRMED: "Import confirmed",
        imports.FINISHED: "Import finished",
        **{exporter.topic: f"{named(name).label} exported" for name, exporter in exporters().items()},
    }
    for name in labels.keys() - {topic.name for topic in topics.all_topics()}:
        # For the audit trail alone: no scope opens them to apps.
        topics.register(name, scope="", render=_nothing, label=labels[name])
