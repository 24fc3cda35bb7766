"""Real requests and their answers, as ``make examples`` noted them in the demo store."""

from functools import cache
from pathlib import Path
from typing import TypedDict

import orjson

from apps.api.versions import newest

PATH = Path(__file__).with_name("examples.json")


class Example(TypedDict):
    """A request that was sent, and what came back.

    Attributes:
        path: The path, below ``/admin/api/<version>/`` or whole.
        query: The query, without its question mark.
        body: The JSON that was sent; None where there was none.
        status: The HTTP status.
        answer: The JSON that came back.
    """

    path: str
    query: str
    body: object
    status: int
    answer: object


@cache
def _kept() -> dict[str, dict[str, Example]]:
    """By operation, then by version; what a version lacks is as in the newest."""
    kept: dict[str, dict[str, Example]] = orjson.loads(PATH.read_bytes())
    return kept


def example_of(operation_id: str, version: str) -> Example | None:
    """The example of an operation in a version."""
    by_version = _kept().get(operation_id, {})
    return by_version.get(version) or by_version.get(newest())
