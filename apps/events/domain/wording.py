"""What happened, as people read it."""

from apps.events.domain import topics
from apps.events.models import Event


def label_of(topic: str) -> str:
    """A topic in words; topics of domains that are gone stay as they are."""
    try:
        return topics.topic(topic).label
    except topics.UnknownTopic:
        return topic


def sentence(event: Event) -> str:
    """What happened, in words."""
    return event.message or label_of(event.topic)
