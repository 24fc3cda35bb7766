"""Describe events for people. The texts are stored in English and translated when displayed."""

from apps.events.domain import topics
from apps.events.models import Event
from apps.ground.stored_messages import translate_stored


def get_topic_label(topic: str) -> str:
    """Return the label of a topic, or the topic itself if no installed app has registered this topic."""
    try:
        return translate_stored(topics.get_topic(topic).label)
    except topics.UnknownTopic:
        return topic


def describe_event(event: Event) -> str:
    """Describe an event in a sentence."""
    return translate_stored(event.message) or get_topic_label(event.topic)
