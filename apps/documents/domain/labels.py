"""The texts of documents in all languages, from ``labels.toml``."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

LABELS: Mapping[str, Mapping[str, str]] = tomllib.loads(Path(__file__).with_name("labels.toml").read_text("utf-8"))
_FALLBACK = "en"


def match_document_language(*tags: str) -> str:
    """Return the first language in which documents are available, for language tags such as ``de-AT``."""
    codes = (tag.replace("_", "-").partition("-")[0].lower() for tag in tags)
    return next((code for code in codes if code in LABELS), _FALLBACK)
