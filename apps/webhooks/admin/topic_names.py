"""Show topics in plain words with their codes, and find topics by these words."""

from operator import itemgetter

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from apps.core.events.timelines import get_topic_label
from apps.core.i18n.messages import translate
from apps.webhooks.domain.topic_examples import TopicDescription, describe_topics, list_subscribable_topics


def format_topic(topic: str, note: str = "") -> SafeString:
    """Return the name of a topic in plain words, its code, and a note, which is the name of an unknown topic."""
    label = get_topic_label(topic)
    if note and label == topic:
        label, code = capfirst(note), topic
    else:
        code = _("{topic} ({kind})").format(topic=topic, kind=note) if note else topic
    return format_html('<span class="bo-two"><strong>{}</strong> <span>{}</span></span>', label, code)


def find_topics(term: str) -> list[str]:
    """Return the codes of the topics with the term in their name in the active language."""
    text = term.casefold()
    return [topic.name for topic in list_subscribable_topics() if text and text in translate(topic.label).casefold()]


def describe_sections() -> list[tuple[str, list[TopicDescription]]]:
    """Return the topics of each section with the section's title in the active language, sorted by this title."""
    return sorted(((_(title), rows) for title, rows in describe_topics().items()), key=itemgetter(0))
