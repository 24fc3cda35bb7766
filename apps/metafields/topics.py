"""The topics of metafields: the same three for every kind of owner."""

from django.db.models import Model

from apps.api.topics import register_resource
from apps.metafields.api.metafields import MetafieldSerializer
from apps.metafields.domain.owners import Owner
from apps.metafields.models import Metafield


def register_for(owner: Owner) -> None:
    """Add the topics of an owner's metafields."""
    label = f"{owner.resource.replace('_', ' ').capitalize()} metafield"
    scope = owner.scope_to("read") or ""

    def example() -> Model | None:
        return Metafield.objects.filter(owner_resource=owner.resource).order_by("pk").first()

    register_resource(owner.topics, label, MetafieldSerializer, scope=scope, example=example)
