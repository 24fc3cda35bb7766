"""Register the webhook topics for metafields: create, update and delete for each owner type."""

from django.db.models import Model
from django.utils.translation import gettext, gettext_noop

from apps.api.webhook_topics import register_resource_topics
from apps.ground.stored_messages import register_message
from apps.metafields.api.metafields import MetafieldSerializer
from apps.metafields.domain.owners import OwnerType
from apps.metafields.models import Metafield

_LABEL = register_message(gettext_noop("{owner} metafield"), owner=gettext)
# Mark the names of these owner types for translation. The names of all other types are marked elsewhere.
_OWNERS = (gettext_noop("Product image"), gettext_noop("Shop"))


def register_metafield_topics(owner: OwnerType) -> None:
    label = _LABEL.format(owner=owner.resource.replace("_", " ").capitalize())
    scope = owner.get_scope("read") or ""

    def example() -> Model | None:
        return Metafield.objects.filter(owner_resource=owner.resource).order_by("pk").first()

    register_resource_topics(owner.topic_prefix, label, MetafieldSerializer, scope=scope, example=example)
