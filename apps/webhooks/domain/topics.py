"""Which topics can be subscribed to, by whom, and what their payloads look like."""

from collections.abc import Collection, Mapping

from apps.events.domain import topics
from apps.events.domain.topics import Hears, Topic

# What the law asks of apps about people's data; they come from the configuration file alone.
SHOP_REDACT = "shop/redact"
COMPLIANCE = frozenset({"customers/data_request", "customers/redact", SHOP_REDACT})
# What still goes out to an app that was taken off the shop.
AFTER_UNINSTALLING = COMPLIANCE | {"app/uninstalled"}
# Topics that tell of an installation are told to its own app, and to no other.
OF_AN_APP = frozenset({"app/uninstalled", "app/scopes_update", SHOP_REDACT})


def offered_topics() -> tuple[Topic, ...]:
    """Every topic that an app can subscribe to by the interface, by name."""
    return tuple(topic for topic in topics.all_topics() if topic.offered and topic.name not in COMPLIANCE)


def is_offered(name: str) -> bool:
    """Whether an app can subscribe to a topic by the interface."""
    try:
        return name not in COMPLIANCE and topics.topic(name).offered
    except topics.UnknownTopic:
        return False


def scope_missing(name: str, granted: Collection[str]) -> str:
    """The scope that an app lacks for a topic; blank where it lacks none."""
    topic = topics.topic(name)
    return topic.scope if topic.scope and not topic.is_read_by(granted) else ""


def hears_of(name: str) -> Hears | None:
    """What tells apart who may hear of which event of a topic; None where all may who hear of the topic."""
    return topics.topic(name).hears


def counts_each(name: str) -> bool:
    """Whether each event of a topic counts, though one action tell several of a resource."""
    return topics.topic(name).each


def shape_of(name: str, version: str) -> Mapping[str, object] | None:
    """The JSON schema of a topic's payload in a version, where it is known."""
    shape = topics.topic(name).shape
    return None if shape is None else shape(version)
