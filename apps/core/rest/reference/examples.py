"""Load real requests and responses, which ``make examples`` records in the demo shop."""

import re
from functools import cache
from pathlib import Path
from typing import TypedDict

import orjson

from apps.core.rest.versions import get_latest_version

EXAMPLES_PATH = Path(__file__).with_name("examples.json")


class Example(TypedDict):
    """A recorded request with its response. ``path`` is absolute or relative to ``/admin/api/<version>/``."""

    path: str
    query: str
    body: object
    status: int
    answer: object


@cache
def _load_examples() -> dict[str, dict[str, Example]]:
    return orjson.loads(EXAMPLES_PATH.read_bytes())


def get_example(operation_id: str, version: str) -> Example | None:
    """Return the example of an operation in a version. If there is none, return the newest version's example.

    Metafields of other owners use the examples of product metafields, because only the path and ``owner_resource``
    differ.
    """
    by_version = _load_examples().get(operation_id, {})
    example = by_version.get(version) or by_version.get(get_latest_version())
    if example is None and (owned := _OWNED.fullmatch(operation_id)):
        method, owners, rest = owned.groups()
        example = get_example(f"{method}_products_owner_id_metafields{rest}", version)
        return _with_owner(example, owners) if example else None
    return example


# Matches operations on metafields of any owner. The owner may have a parent, as in ``blogs_blog_id_articles``.
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
