"""The topics of metafields: the same three for every kind of owner."""

from django.db.models import Model
from django.utils.translation import gettext, gettext_noop

from apps.api.topics import register_resource
from apps.ground.retelling import tells
from apps.metafields.api.metafields import MetafieldSerializer
from apps.metafields.domain.owners import Owner
from apps.metafields.models import Metafield

_LABEL = tells(gettext_noop("{owner} metafield"), owner=gettext)
# The owners that no topic of their own names.
_OWNERS = (gettext_noop("Product image"), gettext_noop("Shop"))


def register_for(owner: Owner) -> None:
    """Add the topics of an owner's metafields."""
    label = _LABEL.format(owner=owner.resource.replace("_", " ").capitalize())
    scope = owner.scope_to("read") or ""

    def example() -> Model | None:
        return Metafield.objects.filter(owner_resource=owner.resource).order_by("pk").first()

    register_resource(owner.topics, label, MetafieldSerializer, scope=scope, example=example)
