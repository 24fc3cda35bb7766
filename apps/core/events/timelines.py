"""Resources with a timeline in the API (``<plural>/<id>/events``). Apps register them in ``topics.py``."""

from dataclasses import dataclass
from operator import attrgetter

from django.db.models import Model, QuerySet

from apps.core.events.models import Event
from apps.core.events.topics import topics
from apps.core.i18n.messages import translate
from apps.core.registry import Registry
from apps.core.tenancy.shop_owned import ShopOwned


def get_topic_label(topic: str) -> str:
    """Return the label of a topic, or the topic itself if no installed app has registered this topic."""
    return translate(topics[topic].label) if topic in topics else topic


def get_latest_events(instance: Model, limit: int) -> QuerySet[Event]:
    """Return the latest events of a row without their payloads, newest first."""
    rows = Event.rows().filter(subject_type=instance._meta.label_lower, subject_id=instance.pk)
    return rows.order_by("-id").defer("payload")[:limit]


def describe_event(event: Event) -> str:
    return translate(event.message) or get_topic_label(event.topic)


@dataclass(frozen=True, slots=True)
class Timeline:
    """A resource with a timeline for each row. ``plural`` is its name in paths, and ``scope`` omits ``read_``."""

    plural: str
    model: type[ShopOwned]
    scope: str

    @property
    def argument(self) -> str:
        """Return the path argument with the row's id, e.g. ``order_id``."""
        return f"{self.model._meta.model_name}_id"


timelines = Registry[str, Timeline]("timelines", get_key=attrgetter("plural"))
