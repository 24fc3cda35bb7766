"""The topics of metafields: the same three for every kind of owner."""

from apps.api.topics import register_resource
from apps.metafields.api.metafields import MetafieldSerializer
from apps.metafields.domain.owners import Owner


def register_for(owner: Owner) -> None:
    """Add the topics of an owner's metafields."""
    label = f"{owner.resource.replace('_', ' ').capitalize()} metafield"
    register_resource(owner.topics, label, MetafieldSerializer, scope=owner.scope_to("read") or "")
