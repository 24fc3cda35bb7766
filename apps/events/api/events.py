"""What happened, out of the event rows: to a shop, or to one row of it that has a timeline.

An app sees the events of the topics that its scopes read; comments of staff and other rows of the audit trail alone
are read by no scope.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.apps import apps
from django.db.models import Model, QuerySet, Value
from django.db.models.functions import Concat

from apps.api.context import Context
from apps.api.resources.fields import Column, Computed, Constant, FromModel
from apps.api.resources.filters import ApiFilter, MomentFilter, ResourceFilter, TextFilter
from apps.api.resources.serializers import ResourceSerializer
from apps.api.rows.plans import Plan, Values
from apps.api.shapes import Shown
from apps.api.viewsets import ShopViewSet
from apps.events.domain import counting, topics
from apps.events.domain.timelines import Timeline
from apps.events.models import Event
from apps.staff.domain.actors import names_of

VERBS = {"delete": "destroy", "updated": "update"}


@lru_cache(maxsize=256)
def type_of(label: str) -> str:
    """What the interface calls the model of a subject, e.g. ``Order`` for ``orders.order``."""
    try:
        model = apps.get_model(label)
    except LookupError:
        return label
    return (model._meta.concrete_model or model).__name__


def _type(_context: Context, label: str) -> str:
    return type_of(label)


def _verb(_context: Context, topic: str) -> str:
    return _verb_of(topic)


def _said(_context: Context, topic: str, message: str, label: str) -> str:
    text = message or topics.topic(topic).label
    return f"{text}: {label}" if label else text


def _arguments(_context: Context, label: str) -> list[str]:
    return [label]


def _path(_context: Context, topic: str, subject_id: int) -> str:
    return f"/admin/{topic.partition('/')[0]}/{subject_id}"


class EventSerializer(ResourceSerializer[Event]):
    """Something that happened."""

    subject_id = Column()
    created_at = FromModel()
    subject_type = Computed(_type, "subject_type")
    verb = Computed(_verb, "topic")
    arguments = Computed(_arguments, "subject_label", schema={"type": "array", "items": {"type": "string"}})
    body = Constant(None)
    message = Computed(_said, "topic", "message", "subject_label")
    author = Column("actor")
    description = Computed(_said, "topic", "message", "subject_label")
    path = Computed(_path, "topic", "subject_id")

    class Meta:
        model = Event


class EventPlan(Plan):
    """Reads events, and the names of those who caused them with two queries for all."""

    def assemble(self, rows: Sequence[Values], context: Context, *, bounded: bool = False) -> list[Shown]:
        """The objects, with names for actors."""
        objects = super().assemble(rows, context, bounded=bounded)
        authors = sorted({shown["author"] for shown in objects if "author" in shown})
        names = names_of(authors) if authors else {}
        for shown in objects:
            if "author" in shown:
                shown["author"] = names[shown["author"]]
        return objects


@lru_cache(maxsize=256)
def _plan(version: str, names: frozenset[str] | None) -> EventPlan:
    return EventPlan(EventSerializer, version, names)


class SubjectFilter(ApiFilter):
    """Comma-separated types of subjects, e.g. ``Order,Product``."""

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        """The events of these types; an unknown one has none."""
        if not value:
            return qs
        wanted = {word.strip() for word in value.split(",")}
        labels = [model._meta.label_lower for model in apps.get_models() if type_of(model._meta.label_lower) in wanted]
        return qs.filter(subject_type__in=labels)


class VerbFilter(TextFilter):
    """One verb."""

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        """The events of all topics with the verb."""
        if value is None:
            return qs
        named = [topic.name for topic in topics.all_topics() if _verb_of(topic.name) == value]
        return qs.filter(topic__in=named)


def _verb_of(topic: str) -> str:
    verb = topic.rpartition("/")[2]
    return VERBS.get(verb, verb)


class EventFilter(ResourceFilter):
    """What the list of events takes; an event was never updated but when it was created."""

    updated_at_min = MomentFilter("created_at", "gte")
    updated_at_max = MomentFilter("created_at", "lte")
    filter = SubjectFilter()
    verb = VerbFilter("topic")


class EventViewSet(ShopViewSet[Event]):
    """``/events``: what the calling app may know of, oldest first."""

    model = Event
    serializer_class = EventSerializer
    filterset_class = EventFilter
    singular = "event"
    plural = "events"
    order = ("id",)

    def plan(self) -> Plan:
        """How events are read in this request."""
        return _plan(self.version, self.fields)

    def counted(self, rows: QuerySet[Any]) -> int:
        """How many there are, of which most were counted before."""
        return super().counted(rows) if self.parents else counting.count(rows)

    def get_queryset(self) -> QuerySet[Event]:
        """The events of the topics that the caller's scopes read, of the path's subject if it names one."""
        granted = self.access.granted
        readable = [topic.name for topic in topics.all_topics() if topic.is_read_by(granted)]
        if self.action == "count":
            rows = Event.objects.filter(topic__in=readable)
        else:
            # Not by the index of topics: a list in the order of ids out of so many of them would be sorted as a whole.
            rows = Event.objects.alias(name_of_topic=Concat("topic", Value(""))).filter(name_of_topic__in=readable)
        for argument, model in self.parents.items():
            rows = rows.filter(subject_type=model._meta.label_lower, subject_id=self.kwargs[argument])
        return rows


def timeline_viewset(timeline: Timeline) -> type[EventViewSet]:
    """The viewset of the events of one row."""
    attributes = {
        "__doc__": f"``/{timeline.plural}/{{{timeline.argument}}}/events``.",
        "__module__": __name__,
        "scope": timeline.scope,
        "parents": {timeline.argument: timeline.model},
    }
    return type(f"{timeline.model.__name__}EventViewSet", (EventViewSet,), attributes)
