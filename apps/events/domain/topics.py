"""The registry of topics; each domain registers the topics that it records.

A topic is ``<resource>/<verb>``. Its ``render`` function returns the resource's REST representation in an API version;
it is only called if there is an audience.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Model

Render = Callable[[Model, str], Mapping[str, object]]
# A function that returns the JSON schema of a payload in an API version.
SchemaFunction = Callable[[str], Mapping[str, object]]
# A function of ``(payload, app id, scopes)`` that returns True if an app may receive an event.
AudienceCheck = Callable[[Mapping[str, object], int, Collection[str]], bool]
# A function that returns the instance for an example payload in the current shop, or None if there is none.
ExampleFunction = Callable[[], Model | None]
RenderMany = Callable[[Sequence[Model], str], Sequence[Mapping[str, object]]]


@dataclass(frozen=True, slots=True)
class Topic:
    """A kind of event: its name, the scope that can read it, and its renderer.

    Attributes:
        render_together: Renders several instances at once.
        is_subscribable: True if apps can subscribe; other topics are only for the audit log.
        get_schema: Returns the JSON schema of the payload, if known.
        scopes: All alternative scopes; ``scope`` is the first.
        is_allowed: Decides which app may receive which event, if the scope alone does not.
        get_example: Returns the instance for an example payload.
        is_cumulative: If True, every event is delivered, even if one action causes several for a resource; for payloads
            that describe a change and not a state.
    """

    name: str
    scope: str
    render: Render
    label: str
    render_together: RenderMany | None = None
    is_subscribable: bool = True
    get_schema: SchemaFunction | None = None
    scopes: tuple[str, ...] = ()
    is_allowed: AudienceCheck | None = None
    get_example: ExampleFunction | None = None
    is_cumulative: bool = False

    def is_readable_with(self, granted: Collection[str]) -> bool:
        """Return True if one of the scopes can read the topic; no scope can read a topic without a scope."""
        return any(scope in granted for scope in self.scopes or (self.scope,))

    def render_many(self, instances: Sequence[Model], version: str) -> Sequence[Mapping[str, object]]:
        """Return the payloads of several instances, in their order."""
        if self.render_together is not None:
            return self.render_together(instances, version)
        return [self.render(instance, version) for instance in instances]


class UnknownTopic(LookupError):
    """Raised when a topic is not registered."""


_topics: dict[str, Topic] = {}


def register_topic(
    name: str,
    *,
    scope: str | tuple[str, ...],
    render: Render,
    label: str,
    together: RenderMany | None = None,
    offered: bool | None = None,
    shape: SchemaFunction | None = None,
    is_allowed: AudienceCheck | None = None,
    example: ExampleFunction | type[Model] | None = None,
    is_cumulative: bool = False,
) -> None:
    """Register a topic.

    Args:
        name: ``<resource>/<verb>``, e.g. ``script_tags/create``.
        scope: The access scope that can read the resource, e.g. ``read_script_tags``, or several alternative scopes.
        render: Returns the payload of an instance in an API version.
        label: The timeline text in English, e.g. ``Script tag created``; marked with ``gettext_noop``.
        together: Returns the payloads of several instances with as many queries as for one.
        offered: True if apps can subscribe; by default True for topics with a scope.
        shape: Returns the JSON schema of the payload in an API version.
        is_allowed: Decides which app may receive which event.
        example: Returns the instance for an example payload; a model means its first row.
        is_cumulative: If True, every event is delivered, even if one action causes several for a resource.
    """
    if name in _topics:
        raise ValueError(f"Topic {name!r} is already registered")
    scopes = (scope,) if isinstance(scope, str) else scope
    _topics[name] = Topic(
        name=name,
        scope=scopes[0],
        render=render,
        label=label,
        render_together=together,
        is_subscribable=bool(scopes[0]) if offered is None else offered,
        get_schema=shape,
        scopes=scopes,
        is_allowed=is_allowed,
        get_example=_first_of(example) if isinstance(example, type) else example,
        is_cumulative=is_cumulative,
    )


def _first_of(model: type[Model]) -> ExampleFunction:
    return lambda: model._default_manager.order_by("pk").first()


def get_topic(name: str) -> Topic:
    """Return a topic by name.

    Raises:
        UnknownTopic: The topic is not registered.
    """
    try:
        return _topics[name]
    except KeyError:
        raise UnknownTopic(name) from None


def get_all_topics() -> tuple[Topic, ...]:
    """Return every topic, by name."""
    return tuple(_topics[name] for name in sorted(_topics))
