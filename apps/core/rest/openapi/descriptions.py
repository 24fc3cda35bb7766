"""Add descriptions to fields and parameters of the OpenAPI document that have none."""

import re
import tomllib
from functools import cache
from pathlib import Path

from apps.core.rest.requests.views import ApiView
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Schema

_PATH = Path(__file__).with_name("words.toml")


@cache
def load_descriptions() -> dict[str, dict[str, str]]:
    """Return the descriptions of fields and parameters, keyed by object name (or ``any``), then by field name."""
    return tomllib.loads(_PATH.read_text())


def add_descriptions(document: Schema) -> None:
    for name, schema in document["components"]["schemas"].items():
        _explain_fields(schema, (name.removesuffix("Create").removesuffix("Update"),))
    for operations in document["paths"].values():
        for operation in operations.values():
            for parameter in operation["parameters"]:
                if sentence := _describe_parameter(parameter):
                    parameter.setdefault("description", sentence)
            for response in [*operation["responses"].values(), operation.get("requestBody", {})]:
                for content in response.get("content", {}).values():
                    _explain_fields(content["schema"], ())


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
    # A parent is an object or a field. The field ``inventory_items`` contains ``InventoryItem`` objects.
    owners = [owner for parent in parents[:1] for owner in (parent, parent.title().replace("_", "").removesuffix("s"))]
    sentences = (load_descriptions().get(owner, {}).get(name) for owner in (*owners, "any"))
    return next(filter(None, sentences), None)


def _describe_parameter(parameter: Schema) -> str | None:
    name: str = parameter["name"]
    if parameter["in"] == "path":
        noun = name.removesuffix("_id").replace("_", " ")
        return load_descriptions()["/"]["id"] if name == "id" else f"The id of the {noun}."
    return load_descriptions()["?"].get(name)


# Summaries of the standard actions. ``one`` and ``many`` are the resource's singular and plural names; ``of`` lists the
# parents.
_SUMMARIES = {
    "list": "List {many}{of}",
    "count": "Count {many}{of}",
    "retrieve": "Get {one}{of}",
    "create": "Create {one}{of}",
    "update": "Update {one}{of}",
    "destroy": "Delete {one}{of}",
}


def build_summary(view: ApiView, action: str, path: str) -> str:
    """Return the summary of an operation. For custom actions, it is the first line of the docstring."""
    parents = _find_parents(path)
    of = "".join(f" of {_with_article(parent)}" for parent in reversed(parents))
    if action in _SUMMARIES and isinstance(view, ShopViewSet):
        plural, singular = _to_words(view.plural), _to_words(view.singular)
        return _SUMMARIES[action].format(many=plural, one=_with_article(singular), of=of)
    summary = (getattr(view, action).__doc__ or action).strip().splitlines()[0].rstrip(".").replace("``", "")
    if path.startswith("/admin/") and not path.startswith("/admin/oauth/"):
        return f"{summary}, without a version in the path"
    return summary if isinstance(view, ShopViewSet) else summary + of


def _find_parents(path: str) -> list[str]:
    """Return the singular names of the parents in a path: ``blog`` for ``blogs/{blog_id}/articles/{id}``."""
    return [singularize(segment) for segment in re.findall(r"(\w+)/{\w+}/(?=.)", path)]


def singularize(word: str) -> str:
    """Return the singular of a tag or of a name in a path, with spaces between the words."""
    words = _to_words(word)
    if words.endswith("ies"):
        return f"{words[:-3]}y"
    return words[:-2] if words.endswith("sses") else words.removesuffix("s")


def _to_words(name: str) -> str:
    return name.replace("_", " ")


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeio' else 'a'} {noun}"
