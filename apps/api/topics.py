"""Topics whose payload is the resource as REST shows it."""

from collections.abc import Callable, Mapping, Sequence

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.api.context import Context
from apps.api.openapi.schemas import resource_schema
from apps.api.resources.serializers import Resource
from apps.api.rows.plans import plan_for
from apps.api.shapes import Schema, Shown
from apps.events.domain import topics
from apps.ground.retelling import retold, tells
from apps.ground.tenancy import current_shop

PLAIN = {
    "create": tells(gettext_noop("{resource} created"), resource=retold),
    "update": tells(gettext_noop("{resource} changed"), resource=retold),
    "delete": tells(gettext_noop("{resource} deleted"), resource=retold),
}


def _nothing(_: Model) -> Shown:
    return {}


def shape_of_deleted(_version: str) -> Schema:
    """The payload of a deletion: the id alone."""
    return {"type": "object", "properties": {"id": {"type": "integer"}}, "additionalProperties": False}


def register_resource(
    plural: str,
    label: str,
    serializer: Resource,
    *,
    scope: str | tuple[str, ...],
    verbs: Mapping[str, str] = PLAIN,
    besides: Callable[[Model], Shown] = _nothing,
    hears: topics.Hears | None = None,
    example: topics.Example | None = None,
) -> None:
    """Register ``<plural>/<verb>`` for a resource.

    Args:
        plural: The resource's name in topics.
        label: What staff call one, in English, e.g. ``Script tag``; marked with ``gettext_noop``.
        serializer: Its declaration; the payload of a deletion is the id alone.
        scope: The scope that reads it, or several of which one suffices.
        verbs: By verb, what a timeline says; ``{resource}`` in it is the label.
        besides: What single reads add to the declaration.
        hears: Tells apart who may hear of which event, where the scope alone does not.
        example: Gives what examples of payloads are made of; the first row where it is not said.
    """

    def render(instance: Model, version: str) -> Shown:
        shown: Shown = plan_for(serializer, version).read_one(instance.pk, Context(current_shop(), version))
        return {**shown, **besides(instance)}

    def render_together(instances: Sequence[Model], version: str) -> list[Shown]:
        plan = plan_for(serializer, version)
        found: Mapping[int, Shown] = plan.read_ids([row.pk for row in instances], Context(current_shop(), version))
        return [{**found[row.pk], **besides(row)} for row in instances]

    def render_deleted(instance: Model, version: str) -> Shown:
        return {"id": instance.pk}

    def shape(version: str) -> Schema:
        schema = resource_schema(serializer, version)
        return {**schema, "additionalProperties": besides is not _nothing}

    for verb, words in verbs.items():
        topics.register(
            f"{plural}/{verb}",
            scope=scope,
            render=render_deleted if verb == "delete" else render,
            label=words.format(resource=label),
            together=None if verb == "delete" else render_together,
            shape=shape_of_deleted if verb == "delete" else shape,
            hears=hears,
            example=example or serializer.Meta.model,
        )
