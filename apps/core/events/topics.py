"""Event topics. Apps register the topics that they record in ``topics.py``.

A topic is named ``<resource>/<verb>``. The topic's ``render`` function returns the REST representation of the resource
in an API version. It is only called if there is an audience.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import cast

from django.db.models import Model

from apps.core.registry import Registry

Render = Callable[[Model, str], Mapping[str, object]]
# A function of ``(payload, app id, scopes)`` that returns True if an app may receive an event.
AudienceCheck = Callable[[Mapping[str, object], int, Collection[str]], bool]
# A function that returns an instance of the current shop for an example payload, or None if the shop has none.
ExampleFunction = Callable[[], Model | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A kind of event.

    Attributes:
        scopes: The access scopes that can read the resource, e.g. ``read_script_tags``. A single scope is enough.
        render: Returns the payload of an instance in an API version.
        label: The timeline text in English, e.g. ``Script tag created``, marked with ``gettext_noop``.
        render_together: Returns the payloads of several instances with as many queries as for a single instance.
        is_offered: True if apps can subscribe. By default apps can subscribe to topics with a scope. Other topics are
            only for the audit log.
        get_schema: Returns the JSON schema of the payload in an API version.
        is_allowed: Needed if the scope is not enough to decide.
        example: Returns the instance for an example payload, or a model to use the first row.
        is_cumulative: If True, all events of an action are delivered, even if several events concern the same resource.
            Set for payloads that describe a change instead of the current state.
    """

    name: str
    scopes: tuple[str, ...] = ()
    render: Render
    label: str
    render_together: Callable[[Sequence[Model], str], Sequence[Mapping[str, object]]] | None = None
    is_offered: bool | None = None
    get_schema: Callable[[str], Mapping[str, object]] | None = None
    is_allowed: AudienceCheck | None = None
    example: ExampleFunction | type[Model] | None = None
    is_cumulative: bool = False

    @property
    def is_subscribable(self) -> bool:
        return bool(self.scopes) if self.is_offered is None else self.is_offered

    def is_readable_with(self, granted: Collection[str]) -> bool:
        """Return True if one of the granted scopes can read the topic. Topics without a scope are never readable."""
        return any(scope in granted for scope in self.scopes)

    def render_many(self, instances: Sequence[Model], version: str) -> Sequence[Mapping[str, object]]:
        if self.render_together is not None:
            return self.render_together(instances, version)
        return [self.render(instance, version) for instance in instances]

    def get_example(self) -> Model | None:
        """Return the instance for an example payload, or None if the current shop has no suitable row."""
        if isinstance(self.example, type):
            return cast(type[Model], self.example)._default_manager.order_by("pk").first()
        return None if self.example is None else self.example()


topics = Registry[str, Topic]("event topics", get_key=attrgetter("name"))


def get_all_topics() -> list[Topic]:
    return [topics[name] for name in sorted(topics)]
