"""Words within a sentence: English writes them small, German writes its nouns as they stand."""

from django.utils.translation import get_language


def lowered(text: str) -> str:
    """A name of a status or of an action as it stands within a sentence, in the language of who reads."""
    return text.lower() if (get_language() or "en").startswith("en") else text
