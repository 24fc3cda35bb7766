"""Load the titles and introductions of the resources from ``resources.toml``."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PATH = Path(__file__).with_name("resources.toml")


@dataclass(frozen=True, slots=True)
class ResourceText:
    """The title and the introduction of a resource, with its group and its OpenAPI tags."""

    slug: str
    title: str
    group: str
    intro: str
    tags: tuple[str, ...]


@cache
def list_resource_texts() -> tuple[ResourceText, ...]:
    """Return the title and introduction of each resource, in the order of the reference pages."""
    return tuple(
        ResourceText(slug, entry["title"], entry["group"], entry["intro"], tuple(entry.get("tags", [slug])))
        for slug, entry in tomllib.loads(_PATH.read_text()).items()
    )


@cache
def get_resource_texts_by_tag() -> dict[str, ResourceText]:
    """Return the title and introduction of each resource, keyed by OpenAPI tag."""
    return {tag: text for text in list_resource_texts() for tag in text.tags}
