"""Lists of plain texts, such as the tags of all articles or customers."""

from collections.abc import Mapping

from apps.core.rest.reading.keyset_pagination import parse_limit
from apps.core.types import Schema

TAG_PARAMETERS = ("limit", "popular")


def get_text_list_schema(name: str) -> Schema:
    """Return the schema of an object with one list of texts, called ``name``."""
    texts = {"type": "array", "items": {"type": "string"}}
    return {"type": "object", "required": [name], "properties": {name: texts}}


def parse_tag_query(query: Mapping[str, str]) -> tuple[int | None, bool]:
    """Return the limit, or None for all tags, and whether frequent tags come first."""
    limit = parse_limit(query["limit"]) if "limit" in query else None
    return limit, query.get("popular", "0") not in {"0", "false", ""}
