"""The topics that can happen, each registered by the domain that records it.

A topic is ``<resource>/<verb>``. Its ``render`` function gives the resource as REST shows it in one API version; it is
called only where somebody listens.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.db.models import Model

Render = Callable[[Model, str], Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Topic:
    """A kind of event: its name, the scope that a reader needs, and how its payload is rendered."""

    name: str
    scope: str
    render: Render
    label: str


class UnknownTopic(LookupError):
    """No domain registered the topic."""


_topics: dict[str, Topic] = {}


def register(name: str, *, scope: str, render: Render, label: str) -> None:
    """Add a topic.

    Args:
        name: ``<resource>/<verb>``, e.g. ``script_tags/create``.
        scope: The access scope that reads the resource, e.g. ``read_script_tags``.
        render: Gives the payload of an instance in an API version.
        label: What the timeline says, e.g. ``Script tag created``.
    """
    if name in _topics:
        raise ValueError(f"Topic {name!r} is registered twice")
    _topics[name] = Topic(name, scope, render, label)


def topic(name: str) -> Topic:
    """The topic of that name.

    Raises:
        UnknownTopic: There is none.
    """
    try:
        return _topics[name]
    except KeyError:
        raise UnknownTopic(name) from None


def all_topics() -> tuple[Topic, ...]:
    """Every topic, by name."""
    return tuple(_topics[name] for name in sorted(_topics))
