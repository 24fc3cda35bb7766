"""Languages of the interface, by their translation catalogs."""

from pathlib import Path

from django.conf.locale import LANG_INFO


def find_languages(folder: Path) -> list[tuple[str, str]]:
    """Return English and each language with a catalog in the folder; the names are in the languages themselves."""
    codes = sorted(path.parts[-3].lower().replace("_", "-") for path in folder.glob("*/LC_MESSAGES/django.po"))
    return [(code, LANG_INFO.get(code, {}).get("name_local", code)) for code in ("en", *codes)]
