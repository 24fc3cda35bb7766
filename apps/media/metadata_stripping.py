"""Registry of functions that strip metadata from stored images, for images uploaded by old versions."""

from collections.abc import Callable

# A function that strips the images of the current shop and returns the number of changed images.
MetadataStripper = Callable[[], int]
_registered: dict[str, MetadataStripper] = {}


def register_metadata_stripper(name: str, clean: MetadataStripper) -> None:
    """Register the function that strips the images of an app."""
    _registered[name] = clean


def strip_all_metadata() -> dict[str, int]:
    """Strip all images of the current shop. Return the number of changed images for each registered name."""
    return {name: clean() for name, clean in _registered.items()}
