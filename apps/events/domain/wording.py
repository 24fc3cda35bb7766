"""What happened, as people read it: stored in English, and told in the language of whoever reads."""

from apps.events.domain import topics
from apps.events.models import Event
from apps.ground.retelling import retold


def label_of(topic: str) -> str:
    """A topic in words; topics of domains that are gone stay as they are."""
    try:
        return retold(topics.topic(topic).label)
    except topics.UnknownTopic:
        return topic


def sentence(event: Event) -> str:
    """What happened, in words."""
    return retold(event.message) or label_of(event.topic)
