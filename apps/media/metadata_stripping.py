"""Registry for functions that strip metadata from stored images, because old versions did not strip it from uploads."""

from collections.abc import Callable

# A function that strips metadata from the current shop's images and returns the number of changed images.
MetadataStripper = Callable[[], int]
_registered: dict[str, MetadataStripper] = {}


def register_metadata_stripper(name: str, clean: MetadataStripper) -> None:
    """Register the function that strips metadata from an app's images."""
    _registered[name] = clean


def strip_all_metadata() -> dict[str, int]:
    """Strip metadata from all images of the current shop. Return the number of changed images by registered name."""
    return {name: clean() for name, clean in _registered.items()}
