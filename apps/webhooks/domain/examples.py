"""The page of topics: every topic with an example of its payload, made from a store by the topic's own renderer.

The examples are kept in ``examples.json`` beside the app, as a fresh demo store gives them;
``manage.py webhook_topics`` writes them and docs/topics.md. Lists show their first element.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings
from django.utils.translation import gettext_noop

from apps.events.domain import topics
from apps.events.domain.topics import Topic
from apps.webhooks.domain.known_topics import KNOWN
from apps.webhooks.domain.topics import COMPLIANCE, OF_AN_APP

PATH = Path(__file__).parents[1] / "examples.json"
LONGEST_LIST = 1


@dataclass(frozen=True, slots=True)
class Described:
    """A topic as the page tells of it.

    Attributes:
        audience: Who may subscribe, in words.
        is_extension: Whether clients of other platforms do not know it.
        example: A payload, indented.
        same_as: The topic above whose example is the same.
    """

    name: str
    label: str
    audience: str
    is_extension: bool
    example: str
    same_as: str = ""


def told_topics() -> Iterator[Topic]:
    """Every topic that apps can be told of, by name."""
    return (topic for topic in topics.all_topics() if topic.offered or topic.name in COMPLIANCE)


def make_examples() -> dict[str, Any]:
    """By topic, a payload in the newest version, made of what the current shop has; none where it has nothing."""
    version = settings.API_VERSIONS[-1]
    made: dict[str, Any] = {}
    for topic in told_topics():
        instance = topic.example() if topic.example is not None else None
        if instance is not None:
            made[topic.name] = _shortened(orjson.loads(orjson.dumps(topic.render(instance, version))))
    return made


def _shortened(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _shortened(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_shortened(inner) for inner in value[:LONGEST_LIST]]
    return value


@lru_cache(maxsize=1)
def kept_examples() -> Mapping[str, Any]:
    """By topic, the payloads that are kept."""
    found: Mapping[str, Any] = json.loads(PATH.read_text())
    return found


def described() -> list[tuple[str, list[Described]]]:
    """Every topic, by what stands before its slash."""
    found: dict[str, list[Described]] = {}
    for topic in told_topics():
        family = topic.name.replace(".", "/").partition("/")[0]
        found.setdefault(family, []).append(_described(topic, found.get(family, ())))
    return list(found.items())


def _described(topic: Topic, before: Sequence[Described]) -> Described:
    text = json.dumps(kept_examples().get(topic.name), indent=2, ensure_ascii=False)
    same = next((each.name for each in before if each.example == text), "")
    return Described(topic.name, topic.label, _audience(topic), topic.name not in KNOWN, text, same)


def _audience(topic: Topic) -> str:
    if topic.name in COMPLIANCE:
        return gettext_noop("the configuration file alone")
    if topic.name in OF_AN_APP or (topic.hears is not None and not topic.scope):
        return gettext_noop("the app itself")
    return " or ".join(f"{scope}" for scope in topic.scopes or (topic.scope,) if scope) or gettext_noop("any app")


def as_markdown() -> str:
    """docs/topics.md."""
    lines = [
        "# Webhook topics",
        "",
        "Made by `manage.py webhook_topics` out of the registry of topics and the demo store, not by hand. Payloads",
        f"are those of version {settings.API_VERSIONS[-1]}; lists show their first element. *Extension* marks what",
        "clients of other platforms do not know. How to subscribe: [webhooks](webhooks.md).",
        "",
    ]
    for family, rows in described():
        lines += [f"## {family}", "", "| topic | when | who may hear of it | |", "|---|---|---|---|"]
        for row in rows:
            mark = "extension" if row.is_extension else ""
            lines.append(f"| `{row.name}` | {row.label} | {row.audience} | {mark} |")
        lines.append("")
        for row in rows:
            if row.same_as:
                continue
            others = [each.name for each in rows if each.same_as == row.name]
            names = _html(", ".join(f"`{name}`" for name in (row.name, *others)))
            lines += [f"<details><summary>{names}</summary>", "", "```json", row.example, "```", ""]
            lines += ["</details>", ""]
    absent = ", ".join(f"`{name}`" for name in sorted(KNOWN - {topic.name for topic in topics.all_topics()}))
    lines += [
        "## Not here",
        "",
        f"Topics that other platforms know, of parts of a store that are not here: {absent}.",
        "",
    ]
    return "\n".join(lines)


def _html(text: str) -> str:
    parts = text.split("`")
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))
