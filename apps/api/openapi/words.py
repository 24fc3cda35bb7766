"""What each field and parameter means, in words: put into the document wherever a declaration says nothing itself."""

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from apps.api.shapes import Schema

_PATH = Path(__file__).with_name("words.toml")
_SUFFIXES = ("Create", "Update")
Words = dict[str, dict[str, str]]


@cache
def words() -> Words:
    """The sentences by where they hold and by name."""
    return tomllib.loads(_PATH.read_text())


def explain(document: Schema) -> None:
    """Give every field and every parameter of a document a ``description``, unless it has one."""
    for name, schema in document["components"]["schemas"].items():
        _explain_fields(schema, (_base(name),))
    for operations in document["paths"].values():
        for operation in operations.values():
            for parameter in operation["parameters"]:
                if sentence := _of_parameter(parameter):
                    parameter.setdefault("description", sentence)
            for content in _contents(operation):
                _explain_fields(content["schema"], ())


def _contents(operation: Schema) -> Iterator[Schema]:
    for answer in [*operation["responses"].values(), operation.get("requestBody", {})]:
        yield from answer.get("content", {}).values()


def _explain_fields(schema: Schema, places: tuple[str, ...]) -> None:
    """Explain the fields of an object, and of those in it; ``places`` are where it stands, the nearest first."""
    for name, field in schema.get("properties", {}).items():
        sentence = _of(name, places)
        if sentence and "description" not in field:
            # What is referred to stands for itself; of a schema that is shared between fields, each has its own.
            field = schema["properties"][name] = {**field, "description": sentence}
        _explain_fields(field, (name, *places))
    for part in (schema.get("items"), *schema.get("oneOf", ())):
        if isinstance(part, dict):
            _explain_fields(part, places)


def _of(name: str, places: tuple[str, ...]) -> str | None:
    known = words()
    for place in (*places[:1], *(_object_of(place) for place in places[:1]), "any"):
        if sentence := known.get(place, {}).get(name):
            return sentence
    return None


def _object_of(field: str) -> str:
    """The object that stands in a field: ``InventoryItem`` in ``inventory_items``."""
    return field.title().replace("_", "").removesuffix("s")


def _of_parameter(parameter: Schema) -> str | None:
    name: str = parameter["name"]
    if parameter["in"] == "path":
        thing = name.removesuffix("_id").replace("_", " ")
        return words()["/"]["id"] if name == "id" else f"The number of the {thing}."
    return words()["?"].get(name)


def _base(component: str) -> str:
    for suffix in _SUFFIXES:
        component = component.removesuffix(suffix)
    return component
