"""Pictures that were stored before metadata went on arrival: each domain registers how it cleans its own."""

from collections.abc import Callable

# Cleans the pictures of the current shop; returns how many told more than their pixels.
Clean = Callable[[], int]
_registered: dict[str, Clean] = {}


def register(name: str, clean: Clean) -> None:
    """Add the pictures of a domain."""
    _registered[name] = clean


def clean_all() -> dict[str, int]:
    """Clean every picture of the current shop; how many had to be, by what they belong to."""
    return {name: clean() for name, clean in _registered.items()}
