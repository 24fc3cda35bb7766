"""Register webhook topics that have the REST representation of a resource as their payload."""

from collections.abc import Callable, Mapping, Sequence

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.api.openapi.schemas import build_resource_schema
from apps.api.render_context import RenderContext
from apps.api.resources.serializers import Resource
from apps.api.rows.query_plans import get_read_plan
from apps.api.types import Rendered, Schema
from apps.events.domain import topics
from apps.ground.stored_messages import register_message, translate_stored
from apps.ground.tenancy import get_current_shop

DEFAULT_LABELS = {
    "create": register_message(gettext_noop("{resource} created"), resource=translate_stored),
    "update": register_message(gettext_noop("{resource} changed"), resource=translate_stored),
    "delete": register_message(gettext_noop("{resource} deleted"), resource=translate_stored),
}


def _nothing(_: Model) -> Rendered:
    return {}


def get_deletion_schema(_version: str) -> Schema:
    """Return the payload schema of a deletion, which has only an id."""
    return {"type": "object", "properties": {"id": {"type": "integer"}}, "additionalProperties": False}


def register_resource_topics(
    plural: str,
    label: str,
    serializer: Resource,
    *,
    scope: str | tuple[str, ...],
    verbs: Mapping[str, str] = DEFAULT_LABELS,
    extra_fields: Callable[[Model], Rendered] = _nothing,
    is_allowed: topics.AudienceCheck | None = None,
    example: topics.ExampleFunction | None = None,
) -> None:
    """Register the topics ``<plural>/<verb>`` of a resource.

    Args:
        plural: The resource's name in topics.
        label: The singular label for staff in English, e.g. ``Script tag``, marked with ``gettext_noop``.
        serializer: The resource's serializer. The payload of a deletion is only the id.
        scope: The access scope that can read the resource, or several alternative scopes.
        verbs: The timeline texts, keyed by verb; ``{resource}`` is replaced with the label.
        extra_fields: Returns the fields that responses with a single object contain in addition to the serializer's
            fields.
        is_allowed: Returns True if an app may receive an event. Needed if the scope is not enough to decide.
        example: Returns the row for payload examples. The default is the first row.
    """

    def render(instance: Model, version: str) -> Rendered:
        rendered: Rendered = get_read_plan(serializer, version).read_one(
            instance.pk, RenderContext(get_current_shop(), version)
        )
        return {**rendered, **extra_fields(instance)}

    def render_together(instances: Sequence[Model], version: str) -> list[Rendered]:
        plan = get_read_plan(serializer, version)
        rendered_by_id: Mapping[int, Rendered] = plan.read_ids(
            [row.pk for row in instances], RenderContext(get_current_shop(), version)
        )
        return [{**rendered_by_id[row.pk], **extra_fields(row)} for row in instances]

    def render_deleted(instance: Model, version: str) -> Rendered:
        return {"id": instance.pk}

    def shape(version: str) -> Schema:
        schema = build_resource_schema(serializer, version)
        return {**schema, "additionalProperties": extra_fields is not _nothing}

    for verb, template in verbs.items():
        topics.register_topic(
            f"{plural}/{verb}",
            scope=scope,
            render=render_deleted if verb == "delete" else render,
            label=template.format(resource=label),
            together=None if verb == "delete" else render_together,
            shape=get_deletion_schema if verb == "delete" else shape,
            is_allowed=is_allowed,
            example=example or serializer.Meta.model,
        )
