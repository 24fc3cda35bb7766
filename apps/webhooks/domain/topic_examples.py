"""Generate the example payloads in ``examples.json`` and the topic list in docs/topics.md.

``manage.py list_webhook_topics`` writes both files. The examples are rows of a demo shop, rendered by the functions
that also render real payloads. Lists in examples contain only the first element.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson
import uuid6
from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.core.events.topics import Topic, get_all_topics
from apps.webhooks.domain.engine.headers import build_signed_headers
from apps.webhooks.domain.topics import CATALOG, COMPLIANCE_TOPICS, INSTALLATION_TOPICS

PATH = Path(__file__).parents[1] / "examples.json"
MAX_LIST_ITEMS = 1
# Maps topic families without a separate section in docs/topics.md to the section that lists them.
_SECTIONS: Mapping[str, str] = {
    "app_purchases_one_time": "app",
    "app_subscriptions": "app",
    "collection_listings": "product_listings",
    "customer": "customers",
    "customers_email_marketing_consent": "customers",
    "customers_marketing_consent": "customers",
    "fulfillment_events": "fulfillments",
    "fulfillment_holds": "fulfillment_orders",
    "inventory_items": "inventory",
    "inventory_levels": "inventory",
    "order_transactions": "orders",
    "refunds": "orders",
    "tender_transactions": "orders",
    "variants": "products",
}
# The titles of the sections in docs/topics.md and in the panel.
_TITLES: Mapping[str, str] = {
    "app": gettext_noop("App"),
    "articles": gettext_noop("Articles"),
    "blogs": gettext_noop("Blogs"),
    "collections": gettext_noop("Collections"),
    "customers": gettext_noop("Customers"),
    "draft_orders": gettext_noop("Draft orders"),
    "fulfillment_orders": gettext_noop("Fulfillment orders"),
    "fulfillment_services": gettext_noop("Fulfillment services"),
    "fulfillments": gettext_noop("Fulfillments"),
    "inventory": gettext_noop("Inventory"),
    "locations": gettext_noop("Locations"),
    "metafields": gettext_noop("Metafields"),
    "mobile_platform_applications": gettext_noop("Mobile platform applications"),
    "orders": gettext_noop("Orders"),
    "payment_handlers": gettext_noop("Payment handlers"),
    "product_listings": gettext_noop("Product listings"),
    "products": gettext_noop("Products"),
    "script_tags": gettext_noop("Script tags"),
    "shop": gettext_noop("Shop"),
    "themes": gettext_noop("Themes"),
}


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """The description of a topic in docs/topics.md and in the panel.

    ``audience`` is the required scope, or a phrase such as "any app". ``is_extension`` is True if clients of other
    platforms do not know the topic. ``same_as`` is the name of an earlier topic with the same example, or "".
    """

    name: str
    label: str
    audience: str
    is_extension: bool
    example: str
    same_as: str = ""


def list_subscribable_topics() -> Iterator[Topic]:
    return (topic for topic in get_all_topics() if topic.is_subscribable or topic.name in COMPLIANCE_TOPICS)


def render_examples() -> dict[str, Any]:
    """Render example payloads in the newest API version, for all topics with a suitable row in the current shop."""
    version = settings.API_VERSIONS[-1]
    rendered: dict[str, Any] = {}
    for topic in list_subscribable_topics():
        if (instance := topic.get_example()) is not None:
            rendered[topic.name] = _shortened(orjson.loads(orjson.dumps(topic.render(instance, version))))
    return rendered


def _shortened(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _shortened(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_shortened(inner) for inner in value[:MAX_LIST_ITEMS]]
    return value


@lru_cache(maxsize=1)
def load_examples() -> Mapping[str, Any]:
    examples_by_topic: Mapping[str, Any] = json.loads(PATH.read_text())
    return examples_by_topic


def build_example_request(topic: str, domain: str) -> tuple[dict[str, str], str] | None:
    """Return the headers and the payload of an example delivery, or None if there is no example of the topic.

    The secret of the signatures is made up.
    """
    example = load_examples().get(topic)
    if example is None:
        return None
    now = timezone.now()
    headers = build_signed_headers(
        topic,
        orjson.dumps(example),
        key=uuid6.uuid7(),
        domain=domain,
        api_version=settings.API_VERSIONS[-1],
        triggered_at=now,
        secrets=["example"],
        timestamp=int(now.timestamp()),
    )
    return headers, _format_json(example)


def _format_json(example: object) -> str:
    return json.dumps(example, indent=2, ensure_ascii=False)


def describe_topics() -> dict[str, list[TopicDescription]]:
    """Describe all topics, grouped by the English title of their section and sorted."""
    families: dict[str, list[TopicDescription]] = {}
    for topic in list_subscribable_topics():
        family = _family(topic.name)
        families.setdefault(family, []).append(_describe_topic(topic, families.get(family, ())))
    sections: dict[str, list[TopicDescription]] = {}
    for family, rows in families.items():
        sections.setdefault(get_section_title(family), []).extend(rows)
    return dict(sorted(sections.items()))


def get_section_title(topic: str) -> str:
    """Return the English title of the section that lists a topic or a family of topics."""
    family = _family(topic)
    section = "metafields" if family.endswith("_metafields") else _SECTIONS.get(family, family)
    return _TITLES.get(section) or section.replace("_", " ").capitalize()


def _describe_topic(topic: Topic, before: Sequence[TopicDescription]) -> TopicDescription:
    text = _format_json(load_examples().get(topic.name))
    same = next((earlier.name for earlier in before if earlier.example == text), "")
    return TopicDescription(topic.name, topic.label, _audience(topic), topic.name not in CATALOG, text, same)


def _audience(topic: Topic) -> str:
    if topic.name in COMPLIANCE_TOPICS:
        return gettext_noop("none, only in the app's configuration file")
    if topic.name in INSTALLATION_TOPICS or (topic.is_allowed is not None and not topic.scopes):
        return gettext_noop("the app itself")
    return " or ".join(topic.scopes) or gettext_noop("any app")


def render_topics_page() -> str:
    """Render docs/topics.md, which has a table of topics for each section, without payloads."""
    lines = [
        "# Webhook topics",
        "",
        "Generated by `manage.py list_webhook_topics`; do not edit. [Webhooks](webhooks.md) explains subscriptions.",
        "To subscribe to a topic, an app needs the scope in the topic's row. Topics marked with \\* are extensions",
        "that other platforms do not have.",
        "",
        "## Payloads",
        "",
        "- Most topics send the resource as REST returns it, without a wrapper: see the API reference (`/docs/api/`).",
        '- `delete` topics send the ID only: `{"id": 1000001}`.',
        "- The panel shows an example for every topic: **Webhooks**, *Topics and examples*. The same examples are in",
        f"  [examples.json](../apps/webhooks/{PATH.name}), in version {settings.API_VERSIONS[-1]}.",
        "",
    ]
    for title, rows in describe_topics().items():
        lines += [f"## {title}", "", "| topic | when | scope |", "|---|---|---|"]
        for row in rows:
            mark = "\\*" if row.is_extension else ""
            lines.append(f"| `{row.name}`{mark} | {row.label} | {_format_scope(row.audience)} |")
        lines.append("")
    absent = ", ".join(f"`{name}`" for name in _unsupported())
    lines += ["## Not supported", "", f"Topics for features that Backoffice does not have: {absent}.", ""]
    return "\n".join(lines)


def _format_scope(audience: str) -> str:
    """Format an audience as Markdown. Link to a page if there are alternative scopes, as for fulfillment orders."""
    if " or " in audience:
        return "[fulfillment orders](fulfillment.md#access-scopes)"
    return f"`{audience}`" if audience.startswith("read_") else audience


def _unsupported() -> list[str]:
    """Return the catalog topics that are not registered, with one entry for each family that is missing completely."""
    registered = {topic.name for topic in get_all_topics()}
    families = {_family(name) for name in registered}
    absent = CATALOG - registered
    return sorted({name if _family(name) in families else f"{_family(name)}/*" for name in absent})


def _family(name: str) -> str:
    """Return the part of a topic before the first slash or dot."""
    return name.replace(".", "/").partition("/")[0]
