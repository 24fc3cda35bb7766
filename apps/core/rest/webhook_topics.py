"""Build webhook topics that have the REST representation of a resource as their payload."""

from collections.abc import Callable, Mapping, Sequence

from django.db.models import Model

from apps.core.events.topics import AudienceCheck, ExampleFunction, Topic
from apps.core.i18n.messages import Message, MessageTemplate, define_message, define_text
from apps.core.rest.openapi.schemas import build_resource_schema
from apps.core.rest.reading.query_plans import get_read_plan
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.serializers import Resource
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Rendered, Schema

DEFAULT_LABELS: Mapping[str, str | MessageTemplate] = {
    "create": define_message("topics.resource_created", "{resource} created"),
    "update": define_message("topics.resource_changed", "{resource} changed"),
    "delete": define_message("topics.resource_deleted", "{resource} deleted"),
}


def _nothing(_: Model) -> Rendered:
    return {}


def get_deletion_schema(_version: str) -> Schema:
    """Return the payload schema of a deletion, which has only an id."""
    return {"type": "object", "properties": {"id": {"type": "integer"}}, "additionalProperties": False}


def build_resource_topics(
    plural: str,
    label: str,
    serializer: Resource,
    *,
    scopes: tuple[str, ...] = (),
    verbs: Mapping[str, str | MessageTemplate] = DEFAULT_LABELS,
    extra_fields: Callable[[Model], Rendered] = _nothing,
    is_allowed: AudienceCheck | None = None,
    example: ExampleFunction | None = None,
) -> list[Topic]:
    """Build the topics ``<plural>/<verb>`` of a resource. The payload of a deletion is only the id.

    ``label`` is the singular label for staff in English, marked with ``gettext_noop``. It is the parameter ``resource``
    of the messages in ``verbs``. One of the ``scopes`` is enough to read the resource. ``extra_fields`` returns the
    fields that only responses with a single object contain. ``is_allowed`` is needed if the scope is not enough to
    decide. ``example`` returns the row for payload examples. The default is the first row.
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

    def get_schema(version: str) -> Schema:
        schema = build_resource_schema(serializer, version)
        return {**schema, "additionalProperties": extra_fields is not _nothing}

    resource = label if isinstance(label, Message) else define_text(f"resource.{plural}", label)
    return [
        Topic(
            name=f"{plural}/{verb}",
            scopes=scopes,
            render=render_deleted if verb == "delete" else render,
            label=text(resource=resource) if isinstance(text, MessageTemplate) else text,
            render_together=None if verb == "delete" else render_together,
            get_schema=get_deletion_schema if verb == "delete" else get_schema,
            is_allowed=is_allowed,
            example=example or serializer.Meta.model,
        )
        for verb, text in verbs.items()
    ]
