"""Topics whose payload is the resource as REST shows it."""

from collections.abc import Mapping

from django.db.models import Model

from apps.api.context import Context
from apps.api.resources.serializers import Resource
from apps.api.rows.plans import plan_for
from apps.api.shapes import Shown
from apps.events.domain import topics
from apps.ground.tenancy import current_shop

PLAIN = {"create": "created", "update": "changed", "delete": "deleted"}


def register_resource(
    plural: str,
    label: str,
    serializer: Resource,
    *,
    scope: str,
    verbs: Mapping[str, str] = PLAIN,
) -> None:
    """Register ``<plural>/<verb>`` for a resource.

    Args:
        plural: The resource's name in topics.
        label: What staff call one, e.g. ``Script tag``.
        serializer: Its declaration; the payload of a deletion is the id alone.
        scope: The scope that reads it.
        verbs: By verb, the words that follow the label in a timeline.
    """

    def render(instance: Model, version: str) -> Shown:
        return plan_for(serializer, version).read_one(instance.pk, Context(current_shop(), version))

    def render_deleted(instance: Model, version: str) -> Shown:
        return {"id": instance.pk}

    for verb, words in verbs.items():
        topics.register(
            f"{plural}/{verb}",
            scope=scope,
            render=render_deleted if verb == "delete" else render,
            label=f"{label} {words}",
        )
