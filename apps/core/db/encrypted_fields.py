"""Encryption at rest for values that must be decrypted later, such as app secrets and TOTP secrets.

The encryption key is derived from ``SECRET_KEY``. Old values can still be decrypted with ``SECRET_KEY_FALLBACKS``.
"""

import base64
import hashlib

from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.db import models


def _keys() -> MultiFernet:
    sources = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    digests = [hashlib.sha256(b"backoffice.secrets" + key.encode()).digest() for key in sources]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])


def encrypt(text: str) -> str:
    """Encrypt a string for storage. Encrypting the same string again gives a different result."""
    return _keys().encrypt(text.encode()).decode()


def decrypt(encrypted: str) -> str:
    """Decrypt a string. Raise ``InvalidToken`` if it was not encrypted with any of the current keys."""
    return _keys().decrypt(encrypted.encode()).decode()


def is_encrypted(text: str) -> bool:
    """Return True if a string is encrypted. Plain secrets never begin with the prefix of encrypted strings."""
    return text.startswith("gAAAAA")


class SecretField(models.TextField[str, str]):
    """A text field that is encrypted in the database and plain on the instance. The field cannot be searched."""

    def get_prep_value(self, value: object) -> object:
        return None if value is None else encrypt(str(value))

    def from_db_value(self, value: str | None, *_: object) -> str | None:
        return None if value is None else decrypt(value)
