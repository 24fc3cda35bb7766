"""Real requests and responses, recorded by ``make examples`` in the demo store."""

import re
from functools import cache
from pathlib import Path
from typing import TypedDict

import orjson

from apps.api.versions import get_latest_version

EXAMPLES_PATH = Path(__file__).with_name("examples.json")


class Example(TypedDict):
    """A recorded request with its response.

    Attributes:
        path: The path, below ``/admin/api/<version>/`` or absolute.
        query: The query, without its question mark.
        body: The JSON body of the request, or None if it had none.
        status: The HTTP status.
        answer: The JSON body of the response.
    """

    path: str
    query: str
    body: object
    status: int
    answer: object


@cache
def _load_examples() -> dict[str, dict[str, Example]]:
    """Return the recorded examples by operation id and version."""
    examples: dict[str, dict[str, Example]] = orjson.loads(EXAMPLES_PATH.read_bytes())
    return examples


def get_example(operation_id: str, version: str) -> Example | None:
    """Return the example of an operation in a version; if the version has none, the newest version's example.

    The examples of product metafields are also used for metafields of other owners, because only the path and
    ``owner_resource`` differ.
    """
    by_version = _load_examples().get(operation_id, {})
    example = by_version.get(version) or by_version.get(get_latest_version())
    if example is None and (owned := _OWNED.fullmatch(operation_id)):
        method, owners, rest = owned.groups()
        example = get_example(f"{method}_products_owner_id_metafields{rest}", version)
        return _with_owner(example, owners) if example else None
    return example


# Matches operations on the metafields of other owners; an owner may have a parent, as in ``blogs_blog_id_articles``.
_OWNED = re.compile(r"([a-z]+)_((?!products_owner)\w+)_owner_id_metafields(\w*)")
_PARENT = re.compile(r"(\w+?)_\w+?_id_(\w+)")


def _with_owner(example: Example, owners: str) -> Example:
    parent = _PARENT.fullmatch(owners)
    plural = parent[2] if parent else owners
    path = f"{parent[1]}/1000001/{plural}" if parent else plural
    resource = "collection" if plural.endswith("collections") else plural.removesuffix("s")
    response = orjson.dumps(example["answer"]).replace(
        b'"owner_resource":"product"', f'"owner_resource":"{resource}"'.encode()
    )
    return {
        **example,
        "path": example["path"].replace("products/", f"{path}/", 1),
        "answer": orjson.loads(response),
    }
