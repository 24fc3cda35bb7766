"""Show topics in plain words with their codes and examples, and find topics by these words."""

from operator import itemgetter

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from apps.core.events.timelines import get_topic_label
from apps.core.i18n.messages import translate
from apps.core.tenancy.models import Shop
from apps.webhooks.domain.topic_examples import (
    TopicDescription,
    build_example_request,
    describe_topics,
    list_subscribable_topics,
)


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


def render_example(request: HttpRequest, shop: Shop, topic: str) -> HttpResponse:
    """Show the headers and the payload of an example, for the form of a webhook."""
    example = build_example_request(topic, shop.domain)
    if example is None:
        raise Http404
    headers, payload = example
    lines = "\n".join(f"{name}: {value}" for name, value in headers.items())
    return render(request, "panel/webhooks/example.html", {"headers": lines, "payload": payload})
