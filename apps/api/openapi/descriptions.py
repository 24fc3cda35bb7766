"""Add descriptions to fields and parameters of the OpenAPI document that have none."""

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from apps.api.types import Schema

_PATH = Path(__file__).with_name("words.toml")
_SUFFIXES = ("Create", "Update")
Descriptions = dict[str, dict[str, str]]


@cache
def load_descriptions() -> Descriptions:
    """Return the descriptions of fields and parameters, keyed by object name (or ``any``), then by field name."""
    return tomllib.loads(_PATH.read_text())


def add_descriptions(document: Schema) -> None:
    """Add the missing descriptions of fields and parameters to a document."""
    for name, schema in document["components"]["schemas"].items():
        _explain_fields(schema, (_strip_suffix(name),))
    for operations in document["paths"].values():
        for operation in operations.values():
            for parameter in operation["parameters"]:
                if sentence := _describe_parameter(parameter):
                    parameter.setdefault("description", sentence)
            for content in _contents(operation):
                _explain_fields(content["schema"], ())


def _contents(operation: Schema) -> Iterator[Schema]:
    for response in [*operation["responses"].values(), operation.get("requestBody", {})]:
        yield from response.get("content", {}).values()


def _explain_fields(schema: Schema, parents: tuple[str, ...]) -> None:
    """Describe an object's fields and nested fields; ``parents`` lists the enclosing names, innermost first."""
    for name, field in schema.get("properties", {}).items():
        sentence = _find_description(name, parents)
        if sentence and "description" not in field:
            # Copy the field, because several fields may share one schema but need different descriptions.
            field = schema["properties"][name] = {**field, "description": sentence}
        _explain_fields(field, (name, *parents))
    for part in (schema.get("items"), *schema.get("oneOf", ())):
        if isinstance(part, dict):
            _explain_fields(part, parents)


def _find_description(name: str, parents: tuple[str, ...]) -> str | None:
    descriptions = load_descriptions()
    for parent in (*parents[:1], *(_object_of(parent) for parent in parents[:1]), "any"):
        if sentence := descriptions.get(parent, {}).get(name):
            return sentence
    return None


def _object_of(field: str) -> str:
    """Return the name of the object in a field: ``InventoryItem`` for ``inventory_items``."""
    return field.title().replace("_", "").removesuffix("s")


def _describe_parameter(parameter: Schema) -> str | None:
    name: str = parameter["name"]
    if parameter["in"] == "path":
        noun = name.removesuffix("_id").replace("_", " ")
        return load_descriptions()["/"]["id"] if name == "id" else f"The id of the {noun}."
    return load_descriptions()["?"].get(name)


def _strip_suffix(component: str) -> str:
    for suffix in _SUFFIXES:
        component = component.removesuffix(suffix)
    return component
