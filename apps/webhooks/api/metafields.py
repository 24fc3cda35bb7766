"""Render metafields for webhook payloads in the same way as REST."""

from django.db.models import Model, Q, QuerySet

from apps.core.rest.reading.query_plans import get_read_plan
from apps.core.rest.render_context import RenderContext
from apps.core.tenancy.scope import get_current_shop
from apps.metafields.api.metafields import MetafieldSerializer
from apps.metafields.domain.owners import get_owner_type_of_row
from apps.metafields.models import Metafield
from apps.webhooks.domain.audience import TopicAudience


def read_metafields(instance: Model, version: str, audience: TopicAudience) -> list[dict[str, object]]:
    """Return the metafields that subscriptions request for a row, or an empty list if the model has no metafields."""
    try:
        owner = get_owner_type_of_row(instance)
    except LookupError:
        return []
    condition = Q(namespace__in=sorted(audience.namespaces))
    for namespace, key in sorted(audience.metafields):
        condition |= Q(namespace=namespace, key=key)
    rows: QuerySet[Metafield] = Metafield.objects.filter(condition, owner_resource=owner.resource, owner_id=instance.pk)
    rendered: list[dict[str, object]] = get_read_plan(MetafieldSerializer, version).read_queryset(
        rows.order_by("pk"), RenderContext(get_current_shop(), version)
    )
    return rendered
