"""Webhook topics for metafields: create, update and delete for each owner type."""

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.core.events.topics import Topic, topics
from apps.core.i18n.messages import define_message, define_text
from apps.core.rest.webhook_topics import build_resource_topics
from apps.metafields.api.metafields import MetafieldSerializer
from apps.metafields.domain.owners import OwnerType, owner_types
from apps.metafields.models import Metafield

_LABEL = define_message("topics.owner_metafield", "{owner} metafield")
# Mark the names of these owner types for translation. The names of all other types are marked elsewhere.
_OWNERS = (gettext_noop("Product image"), gettext_noop("Shop"))


def _build_topics(owner: OwnerType) -> list[Topic]:
    name = owner.resource.replace("_", " ").capitalize()
    label = _LABEL(owner=define_text(f"owner.{owner.resource}", name))
    scope = owner.get_scope("read")

    def get_example() -> Model | None:
        return Metafield.objects.filter(owner_resource=owner.resource).order_by("pk").first()

    return build_resource_topics(
        owner.topic_prefix, label, MetafieldSerializer, scopes=(scope,) if scope else (), example=get_example
    )


for _owner in owner_types.values():
    topics.add(*_build_topics(_owner))
