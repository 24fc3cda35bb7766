"""Signed tokens for links that are sent to customers. A token is valid for one purpose and one customer.

A token is a nonce and its signature. The nonce is also stored with the customer, so that a used or replaced link is
invalid. The signature rejects a forged link before the nonce is compared.
"""

import base64
import hashlib
import secrets

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac

ACTIVATION = "activation"


def create_nonce() -> str:
    """Return a new nonce of 192 random bits."""
    return secrets.token_urlsafe(24)


def get_token_digest(token: str) -> str:
    """Return a digest that identifies a token's nonce without revealing it."""
    return hashlib.sha256(token.partition(".")[0].encode()).hexdigest()


def create_token(purpose: str, *, shop_id: int, customer_id: int, nonce: str) -> str:
    """Return a signed token for a nonce."""
    return f"{nonce}.{_signature(purpose, shop_id, customer_id, nonce)}"


def verify_token(purpose: str, token: str, *, shop_id: int, customer_id: int) -> str | None:
    """Return the nonce of a token, or None if the token is not valid for this purpose, shop and customer."""
    nonce, _, signature = token.partition(".")
    # Old keys are accepted too, so that links in sent emails still work after the secret key is rotated.
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    expected = [_signature(purpose, shop_id, customer_id, nonce, key) for key in keys]
    is_valid = any(constant_time_compare(signature.encode(), candidate.encode()) for candidate in expected)
    return nonce if is_valid and nonce else None


def _signature(purpose: str, shop_id: int, customer_id: int, nonce: str, key: str | None = None) -> str:
    salt, value = f"apps.customers.{purpose}", f"{shop_id}:{customer_id}:{nonce}"
    digest = salted_hmac(salt, value, secret=key, algorithm="sha256").digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
