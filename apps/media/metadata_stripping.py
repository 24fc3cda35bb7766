"""Registry of jobs that strip metadata from images stored before uploads were stripped."""

from collections.abc import Callable

# A function that strips the images of the current shop and returns the number of changed images.
MetadataStripper = Callable[[], int]
_registered: dict[str, MetadataStripper] = {}


def register_metadata_stripper(name: str, clean: MetadataStripper) -> None:
    """Register the function that strips the images of an app."""
    _registered[name] = clean


def strip_all_metadata() -> dict[str, int]:
    """Strip all images of the current shop and return the number of changed images by registered name."""
    return {name: clean() for name, clean in _registered.items()}
