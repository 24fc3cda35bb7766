"""Read the metafields of rows that are duplicated."""

from collections import defaultdict
from collections.abc import Sequence

from django.db.models import Model

from apps.metafields.domain.owners import get_owner_type_of_row
from apps.metafields.domain.write import MetafieldInput
from apps.metafields.models import Metafield


def read_metafields_to_copy(owners: Sequence[Model]) -> dict[int, list[MetafieldInput]]:
    """Return the metafields of owners of one type for their copies, keyed by the ID of the owner.

    Metafields of type ``id`` are omitted, because their values are unique.
    """
    copied = defaultdict[int, list[MetafieldInput]](list)
    if owners:
        resource = get_owner_type_of_row(owners[0]).resource
        rows = Metafield.objects.filter(owner_resource=resource, owner_id__in=[owner.pk for owner in owners])
        for row in rows.exclude(type="id").order_by("owner_id", "pk"):
            copied[row.owner_id].append(
                MetafieldInput(row.namespace, row.key, row.type, row.value, row.description or None)
            )
    return copied
