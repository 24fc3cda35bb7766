"""REST API for events: all events of a shop, or the timeline of one object.

An app sees the events of topics that its scopes can read. Apps never see staff comments or other events that are only
for the audit log.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.apps import apps
from django.db.models import Model, QuerySet, Value
from django.db.models.functions import Concat

from apps.core.events import counts
from apps.core.events.models import Event
from apps.core.events.timelines import Timeline
from apps.core.events.topics import get_all_topics, topics
from apps.core.rest.reading.query_plans import ReadPlan, RowValues
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import ComputedField, ConstantField, ModelDerivedField, ReadOnlyColumn
from apps.core.rest.resources.filters import ApiFilter, DateTimeFilter, ResourceFilter, TextFilter
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.tenancy.actor_names import get_actor_names
from apps.core.types import Rendered

VERB_ALIASES = {"delete": "destroy", "updated": "update"}


@lru_cache(maxsize=256)
def get_subject_type_name(label: str) -> str:
    """Return the name that the API uses for a model, e.g. ``Order`` for ``orders.order``."""
    try:
        model = apps.get_model(label)
    except LookupError:
        return label
    return (model._meta.concrete_model or model).__name__


def _message(_context: RenderContext, topic: str, message: str, label: str) -> str:
    text = message or topics[topic].label
    return f"{text}: {label}" if label else text


def _path(_context: RenderContext, topic: str, subject_id: int) -> str:
    return f"/admin/{topic.partition('/')[0]}/{subject_id}"


class EventSerializer(ResourceSerializer[Event]):
    subject_id = ReadOnlyColumn()
    created_at = ModelDerivedField()
    subject_type = ComputedField(lambda _context, label: get_subject_type_name(label), "subject_type")
    verb = ComputedField(lambda _context, topic: _verb_of(topic), "topic")
    arguments = ComputedField(
        lambda _context, label: [label], "subject_label", schema={"type": "array", "items": {"type": "string"}}
    )
    body = ConstantField(None)
    message = ComputedField(_message, "topic", "message", "subject_label")
    author = ReadOnlyColumn("actor")
    description = ComputedField(_message, "topic", "message", "subject_label")
    path = ComputedField(_path, "topic", "subject_id")


class EventPlan(ReadPlan):
    """Reads the names of all actors with two additional queries."""

    def build_objects(
        self, rows: Sequence[RowValues], context: RenderContext, *, bounded: bool = False
    ) -> list[Rendered]:
        objects = super().build_objects(rows, context, bounded=bounded)
        authors = sorted({rendered["author"] for rendered in objects if "author" in rendered})
        names = get_actor_names(authors) if authors else {}
        for rendered in objects:
            if "author" in rendered:
                rendered["author"] = names[rendered["author"]]
        return objects


@lru_cache(maxsize=256)
def _plan(version: str, names: frozenset[str] | None) -> EventPlan:
    return EventPlan(EventSerializer, version, names)


class SubjectFilter(ApiFilter):
    """Filters by comma-separated subject types, e.g. ``Order,Product``."""

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        if not value:
            return qs
        type_names = {word.strip() for word in value.split(",")}
        labels = [
            model._meta.label_lower
            for model in apps.get_models()
            if get_subject_type_name(model._meta.label_lower) in type_names
        ]
        return qs.filter(subject_type__in=labels)


class VerbFilter(TextFilter):
    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        if value is None:
            return qs
        topic_names = [topic.name for topic in get_all_topics() if _verb_of(topic.name) == value]
        return qs.filter(topic__in=topic_names)


def _verb_of(topic: str) -> str:
    verb = topic.rpartition("/")[2]
    return VERB_ALIASES.get(verb, verb)


class EventFilter(ResourceFilter):
    """Filters for event lists. Events are never updated, so the update filters use the creation time."""

    updated_at_min = DateTimeFilter("created_at", "gte")
    updated_at_max = DateTimeFilter("created_at", "lte")
    filter = SubjectFilter()
    verb = VerbFilter("topic")


class EventViewSet(ShopViewSet[Event]):
    serializer_class = EventSerializer
    filterset_class = EventFilter
    singular = "event"
    order = ("id",)

    def get_read_plan(self) -> ReadPlan:
        return _plan(self.version, self.requested_fields)

    def count_rows(self, rows: QuerySet[Any]) -> int:
        return super().count_rows(rows) if self.parents else counts.count_events(rows)

    def get_queryset(self) -> QuerySet[Event]:
        granted = self.access.granted_scopes
        readable = [topic.name for topic in get_all_topics() if topic.is_readable_with(granted)]
        if self.action == "count":
            rows = Event.objects.filter(topic__in=readable)
        else:
            # Prevent the use of the topic index. With many topics, the database would read and sort all matching events
            # before returning the first page.
            rows = Event.objects.alias(name_of_topic=Concat("topic", Value(""))).filter(name_of_topic__in=readable)
        for argument, model in self.parents.items():
            rows = rows.filter(subject_type=model._meta.label_lower, subject_id=self.kwargs[argument])
        return rows


def create_timeline_viewset(timeline: Timeline) -> type[EventViewSet]:
    attributes = {
        "__module__": __name__,
        "scope": timeline.scope,
        "parents": {timeline.argument: timeline.model},
    }
    return type(f"{timeline.model.__name__}EventViewSet", (EventViewSet,), attributes)
