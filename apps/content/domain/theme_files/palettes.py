"""Find the colors in the settings of themes."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from apps.content.domain import blob_store
from apps.content.models import Asset
from apps.core.media.storage import StorageFailed

SETTINGS_KEY = "config/settings_data.json"
MAX_COLORS = 6
# Larger files are not read, because the list of themes reads the settings of all themes.
_MAX_BYTES = 256 * 1024
_MAX_DEPTH = 5
_COLOR = re.compile(r"#(?:[0-9a-f]{3}|[0-9a-f]{6})", re.IGNORECASE)


def find_palettes(theme_ids: Collection[int]) -> Mapping[int, list[str]]:
    """Return up to six colors of each theme with colors in its current settings. Call this in the shop's scope."""
    assets = Asset.objects.filter(theme__in=theme_ids, key=SETTINGS_KEY, content__size__lte=_MAX_BYTES)
    palettes = {asset.theme_id: _read_colors(asset) for asset in assets.select_related("content")}
    return {theme_id: colors for theme_id, colors in palettes.items() if colors}


def _read_colors(asset: Asset) -> list[str]:
    """Return the colors in a settings file. Return an empty list if the file can't be read."""
    try:
        settings = json.loads(_remove_header(blob_store.read_blob(asset.content).decode()))
    except (StorageFailed, ValueError, RecursionError):
        return []
    if not isinstance(settings, dict):
        return []
    current, presets = settings.get("current"), settings.get("presets")
    if isinstance(current, str):
        # The current settings are a preset.
        current = presets.get(current) if isinstance(presets, dict) else None
    return list(dict.fromkeys(_iterate_colors(current)))[:MAX_COLORS]


def _remove_header(text: str) -> str:
    """Remove the comment before the JSON object."""
    text = text.lstrip()
    return text.partition("*/")[2] if text.startswith("/*") else text


def _iterate_colors(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str) and _COLOR.fullmatch(value):
        yield value.lower()
    elif isinstance(value, dict) and depth < _MAX_DEPTH:
        for member in value.values():
            yield from _iterate_colors(member, depth + 1)
