"""The metafields that go along with a payload, as REST shows them."""

from django.db.models import Model, Q, QuerySet

from apps.api.context import Context
from apps.api.rows.plans import plan_for
from apps.ground.tenancy import current_shop
from apps.metafields.api.metafields import MetafieldSerializer
from apps.metafields.domain.owners import owner_of
from apps.metafields.models import Metafield
from apps.webhooks.domain.listening import Wanted


def read_metafields(instance: Model, version: str, wanted: Wanted) -> list[dict[str, object]]:
    """The metafields of a row that somebody wants; none where such rows own none."""
    try:
        owner = owner_of(instance)
    except LookupError:
        return []
    named = Q(namespace__in=sorted(wanted.namespaces))
    for namespace, key in sorted(wanted.metafields):
        named |= Q(namespace=namespace, key=key)
    rows: QuerySet[Metafield] = Metafield.objects.filter(named, owner_resource=owner.resource, owner_id=instance.pk)
    shown: list[dict[str, object]] = plan_for(MetafieldSerializer, version).read(
        rows.order_by("pk"), Context(current_shop(), version)
    )
    return shown
