"""Find the languages of the panel: English and each language with a translation catalog."""

from pathlib import Path

from django.conf.locale import LANG_INFO


def find_languages(folder: Path) -> list[tuple[str, str]]:
    """Return English and each language with a catalog in the folder. Each name is written in the language itself."""
    codes = sorted(path.parts[-3].lower().replace("_", "-") for path in folder.glob("*/LC_MESSAGES/django.po"))
    return [(code, LANG_INFO.get(code, {}).get("name_local", code)) for code in ("en", *codes)]
