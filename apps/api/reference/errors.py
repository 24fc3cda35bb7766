"""Every error of the interface with its cause and its cure; ``tests/api/test_reference.py`` holds the list complete."""

import inspect
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

from apps.ground import phrases

_PATH = Path(__file__).with_name("errors.toml")


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer that refuses."""

    status: int
    name: str
    body: str
    cause: str
    cure: str


@dataclass(frozen=True, slots=True)
class Message:
    """A message of values, as the interface says it, with ``…`` for what differs."""

    says: str
    cause: str
    cure: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a resource that refuses."""

    resource: str
    cause: str
    cure: str


@cache
def entries() -> dict[str, Any]:
    """What ``errors.toml`` says."""
    return tomllib.loads(_PATH.read_text())


@cache
def answers() -> list[Answer]:
    """The whole answers, by status."""
    return [Answer(name=HTTPStatus(each["status"]).phrase, **each) for each in entries()["answer"]]


@cache
def messages() -> list[Message]:
    """The messages of values, each once."""
    fixed = [Message(says_of(name), cause, cure) for name, (cause, cure) in entries()["phrase"].items()]
    single = [Message(says.replace("{}", "…"), cause, cure) for says, (cause, cure) in entries()["text"].items()]
    return [each for each in (*fixed, *single) if each.says]


@cache
def rules() -> list[Rule]:
    """The rules of the resources."""
    return [Rule(*entry) for entry in entries()["refusal"].values()]


def rules_of(resource: str) -> list[Rule]:
    """The rules of one resource."""
    return [rule for rule in rules() if rule.resource == resource]


def says_of(name: str) -> str:
    """A phrase by its name, with ``…`` for what differs; empty for what stands in other phrases only."""
    phrase: str | Callable[..., str] = getattr(phrases, name)
    if isinstance(phrase, str):
        return phrase
    if name == "size_of":
        return ""
    arguments = [
        2**20 if parameter.annotation in {int, "int"} else ["…"] if name == "one_of" else "…"
        for parameter in inspect.signature(phrase).parameters.values()
        if parameter.default is parameter.empty
    ]
    return phrase(*arguments).replace("1 MiB", "…").replace("1 MB", "…")
