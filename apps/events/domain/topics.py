"""Registry for event topics. Each domain app registers the topics that it records.

A topic is named ``<resource>/<verb>``. The topic's ``render`` function returns the REST representation of the resource
in an API version. It is only called if there is an audience.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Model

Render = Callable[[Model, str], Mapping[str, object]]
# A function that returns the JSON schema of a payload in an API version.
SchemaFunction = Callable[[str], Mapping[str, object]]
# A function of ``(payload, app id, scopes)`` that returns True if an app may receive an event.
AudienceCheck = Callable[[Mapping[str, object], int, Collection[str]], bool]
# A function that returns an instance of the current shop for an example payload, or None if the shop has none.
ExampleFunction = Callable[[], Model | None]
RenderMany = Callable[[Sequence[Model], str], Sequence[Mapping[str, object]]]


@dataclass(frozen=True, slots=True)
class Topic:
    """A kind of event, with a name, the scopes that can read it and a renderer.

    Attributes:
        render_together: Renders several instances at once.
        is_subscribable: True if apps can subscribe; other topics are only for the audit log.
        get_schema: Returns the JSON schema of the payload, if known.
        scopes: The alternative scopes. A single scope is enough. ``scope`` is the first scope.
        is_allowed: Returns True if an app may receive an event. Needed if the scope is not enough to decide.
        get_example: Returns the instance for an example payload.
        is_cumulative: If True, all events of an action are delivered, even if several events concern the same resource.
            Set for payloads that describe a change instead of the current state.
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
        """Return True if one of the granted scopes can read the topic. Topics without a scope are never readable."""
        return any(scope in granted for scope in self.scopes or (self.scope,))

    def render_many(self, instances: Sequence[Model], version: str) -> Sequence[Mapping[str, object]]:
        """Return the payloads of several instances, in the order of the instances."""
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
        label: The timeline text in English, e.g. ``Script tag created``, marked with ``gettext_noop``.
        together: Returns the payloads of several instances with as many queries as for a single instance.
        offered: True if apps can subscribe. By default apps can subscribe to topics with a scope.
        shape: Returns the JSON schema of the payload in an API version.
        is_allowed: Returns True if an app may receive an event. The default allows every app with a scope.
        example: Returns the instance for an example payload, or a model to use the first row.
        is_cumulative: If True, all events of an action are delivered, even if several events concern the same resource.
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
    """Return all topics, sorted by name."""
    return tuple(_topics[name] for name in sorted(_topics))
