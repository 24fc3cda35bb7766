"""Signed tokens for links that are sent to customers; each is good for one purpose and one customer.

A token is a nonce and its signature. The nonce is also kept with what the link opens, so that a used or replaced link
is dead; the signature lets a wrong link be refused without a look at any nonce.
"""

import base64
import hashlib
import secrets

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac

ACTIVATION = "activation"


def new_nonce() -> str:
    """A fresh nonce of 192 random bits."""
    return secrets.token_urlsafe(24)


def digest_of(token: str) -> str:
    """By what a token's nonce is known again without being kept."""
    return hashlib.sha256(token.partition(".")[0].encode()).hexdigest()


def make_token(purpose: str, *, shop_id: int, customer_id: int, nonce: str) -> str:
    """The token of a nonce."""
    return f"{nonce}.{_signature(purpose, shop_id, customer_id, nonce)}"


def read_token(purpose: str, token: str, *, shop_id: int, customer_id: int) -> str | None:
    """The nonce in a token; None where the token was not made for this purpose, shop and customer."""
    nonce, _, signature = token.partition(".")
    # A link in a mail outlives a change of the key.
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    expected = [_signature(purpose, shop_id, customer_id, nonce, key) for key in keys]
    good = any(constant_time_compare(signature.encode(), one.encode()) for one in expected)
    return nonce if good and nonce else None


def _signature(purpose: str, shop_id: int, customer_id: int, nonce: str, key: str | None = None) -> str:
    salt, value = f"apps.customers.{purpose}", f"{shop_id}:{customer_id}:{nonce}"
    digest = salted_hmac(salt, value, secret=key, algorithm="sha256").digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
