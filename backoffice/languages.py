"""Which languages there are, by their catalogues."""

from pathlib import Path

from django.conf.locale import LANG_INFO


def of_catalogues(folder: Path) -> list[tuple[str, str]]:
    """English, the source, and what has a catalogue in the folder; each language by its own name."""
    codes = sorted(found.parts[-3].lower().replace("_", "-") for found in folder.glob("*/LC_MESSAGES/django.po"))
    return [(code, LANG_INFO.get(code, {}).get("name_local", code)) for code in ("en", *codes)]
