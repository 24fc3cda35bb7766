"""Secrets at rest: values that we must be able to read again, such as the secret of an app or of a second factor.

They are encrypted with a key derived from ``SECRET_KEY``; the fallback keys still open what they closed.
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
    """The text as a database may hold it; each time in another form."""
    return _keys().encrypt(text.encode()).decode()


def decrypt(encrypted: str) -> str:
    """What ``encrypt`` was given.

    Raises:
        InvalidToken: It was encrypted with none of the keys.
    """
    return _keys().decrypt(encrypted.encode()).decode()


def is_encrypted(text: str) -> bool:
    """Whether it is what ``encrypt`` makes, and no secret as it is: all of those are in Base32 or hexadecimal."""
    return text.startswith("gAAAAA")


class SecretField(models.TextField[str, str]):
    """Text that is encrypted in the database and plain on the instance.

    It cannot be searched: each encryption of a text differs.
    """

    def get_prep_value(self, value: object) -> object:
        """Encrypt on the way into the database."""
        return None if value is None else encrypt(str(value))

    def from_db_value(self, value: str | None, *_: object) -> str | None:
        """Decrypt on the way out."""
        return None if value is None else decrypt(value)
