"""The topics that can happen, each registered by the domain that records it.

A topic is ``<resource>/<verb>``. Its ``render`` function gives the resource as REST shows it in one API version; it is
called only where somebody listens.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Model

Render = Callable[[Model, str], Mapping[str, object]]
# The JSON schema of a payload in an API version.
Shape = Callable[[str], Mapping[str, object]]
# Whether an app with these scopes may hear of an event with this payload: ``(payload, app id, scopes)``.
Hears = Callable[[Mapping[str, object], int, Collection[str]], bool]
# Gives what an example of a payload is made of, in the current shop; None where there is nothing.
Example = Callable[[], Model | None]
RenderMany = Callable[[Sequence[Model], str], Sequence[Mapping[str, object]]]


@dataclass(frozen=True, slots=True)
class Topic:
    """A kind of event: its name, the scope that a reader needs, and how its payload is rendered.

    Attributes:
        offered: Whether apps may subscribe to it; the others are for the audit trail alone.
        shape: What the payload looks like, where that is known.
        scopes: Where there are several of which one suffices: all; ``scope`` is the first.
        hears: Tells apart who may hear of which event, where the scope alone does not.
        example: Gives what an example is made of.
        each: Whether each event counts, though one action tell several of a resource: where a payload says what
            changed and not what is.
    """

    name: str
    scope: str
    render: Render
    label: str
    together: RenderMany | None = None
    offered: bool = True
    shape: Shape | None = None
    scopes: tuple[str, ...] = ()
    hears: Hears | None = None
    example: Example | None = None
    each: bool = False

    def is_read_by(self, granted: Collection[str]) -> bool:
        """Whether one of the scopes reads it; what has none is read by nobody's scope."""
        return any(scope in granted for scope in self.scopes or (self.scope,))

    def render_many(self, instances: Sequence[Model], version: str) -> Sequence[Mapping[str, object]]:
        """The payloads of several instances, in their order."""
        if self.together is not None:
            return self.together(instances, version)
        return [self.render(instance, version) for instance in instances]


class UnknownTopic(LookupError):
    """No domain registered the topic."""


_topics: dict[str, Topic] = {}


def register(
    name: str,
    *,
    scope: str | tuple[str, ...],
    render: Render,
    label: str,
    together: RenderMany | None = None,
    offered: bool | None = None,
    shape: Shape | None = None,
    hears: Hears | None = None,
    example: Example | type[Model] | None = None,
    each: bool = False,
) -> None:
    """Add a topic.

    Args:
        name: ``<resource>/<verb>``, e.g. ``script_tags/create``.
        scope: The access scope that reads the resource, e.g. ``read_script_tags``; several of which one suffices.
        render: Gives the payload of an instance in an API version.
        label: What the timeline says, in English, e.g. ``Script tag created``; marked with ``gettext_noop``.
        together: Gives the payloads of several instances with as many queries as for one.
        offered: Whether apps may subscribe to it; those with a scope are, unless it says otherwise.
        shape: Gives the JSON schema of the payload in an API version.
        hears: Tells apart who may hear of which event.
        example: Gives what an example is made of, or the model whose first row it is.
        each: Whether each event counts, though one action tell several of a resource.
    """
    if name in _topics:
        raise ValueError(f"Topic {name!r} is registered twice")
    scopes = (scope,) if isinstance(scope, str) else scope
    _topics[name] = Topic(
        name=name,
        scope=scopes[0],
        render=render,
        label=label,
        together=together,
        offered=bool(scopes[0]) if offered is None else offered,
        shape=shape,
        scopes=scopes,
        hears=hears,
        example=_first_of(example) if isinstance(example, type) else example,
        each=each,
    )


def _first_of(model: type[Model]) -> Example:
    return lambda: model._default_manager.order_by("pk").first()


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
