"""Create, normalize and digest the codes of gift cards.

Digests are keyed with ``SECRET_KEY``. After the key is rotated, existing cards are found with the old key, so
``SECRET_KEY_FALLBACKS`` must contain the old key as long as these cards are valid.
"""

import re
import secrets

from django.conf import settings
from django.utils.crypto import salted_hmac

MIN_LENGTH, MAX_LENGTH = 8, 20
LAST_CHARACTERS = 4
_LENGTH = 16
# Without characters that are easily confused, because customers type codes from paper.
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
_VALID = re.compile(rf"[a-z0-9]{{{MIN_LENGTH},{MAX_LENGTH}}}")


def generate_code() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))


def normalize_code(code: str) -> str:
    """Return a code in lower case without spaces and hyphens."""
    return code.lower().replace(" ", "").replace("-", "")


def format_code(code: str) -> str:
    """Return a normalized code for people. Codes of the length of generated codes are in groups of four."""
    return " ".join(code[start : start + 4] for start in range(0, _LENGTH, 4)) if len(code) == _LENGTH else code


def is_valid_code(code: str) -> bool:
    return _VALID.fullmatch(code) is not None


def calculate_digest(code: str, *, key: str | None = None) -> str:
    """Return the keyed digest of a normalized code. The default is the current key."""
    return salted_hmac("apps.gift_cards.codes", code, secret=key, algorithm="sha256").hexdigest()


def calculate_digests(code: str) -> list[str]:
    """Return the digests of a normalized code with the current key and with all earlier keys."""
    return [calculate_digest(code, key=key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]
