"""Look up the topics that apps can subscribe to, the scopes that the topics require, and the payload schemas."""

from collections.abc import Collection, Mapping

from apps.events.domain import topics
from apps.events.domain.topics import AudienceCheck, Topic

# Privacy topics that the law requires. Only a configuration file can subscribe to these topics.
SHOP_REDACT = "shop/redact"
COMPLIANCE_TOPICS = frozenset({"customers/data_request", "customers/redact", SHOP_REDACT})
# Topics that an app still receives after it was uninstalled.
TOPICS_AFTER_UNINSTALL = COMPLIANCE_TOPICS | {"app/uninstalled"}
# Topics about an app installation. Only the installed app receives these events.
INSTALLATION_TOPICS = frozenset({"app/uninstalled", "app/scopes_update", SHOP_REDACT})


def get_offered_topics() -> tuple[Topic, ...]:
    """Return all topics that an app can subscribe to through the API, sorted by name."""
    return tuple(
        topic for topic in topics.get_all_topics() if topic.is_subscribable and topic.name not in COMPLIANCE_TOPICS
    )


def is_offered(name: str) -> bool:
    """Return True if an app can subscribe to the topic through the API."""
    try:
        return name not in COMPLIANCE_TOPICS and topics.get_topic(name).is_subscribable
    except topics.UnknownTopic:
        return False


def get_missing_scope(name: str, granted: Collection[str]) -> str:
    """Return the scope that an app lacks for a topic, or "" if the app may receive the topic."""
    topic = topics.get_topic(name)
    return topic.scope if topic.scope and not topic.is_readable_with(granted) else ""


def get_receive_check(name: str) -> AudienceCheck | None:
    """Return the function that decides which apps may receive an event, or None if the scope is enough."""
    return topics.get_topic(name).is_allowed


def keeps_every_event(name: str) -> bool:
    """Return True if all events of a topic are sent, even if one action causes several for the same resource."""
    return topics.get_topic(name).is_cumulative


def get_payload_schema(name: str, version: str) -> Mapping[str, object] | None:
    """Return the JSON schema of a topic's payload in an API version, or None if the schema is unknown."""
    shape = topics.get_topic(name).get_schema
    return None if shape is None else shape(version)
