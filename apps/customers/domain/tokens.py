"""Signed tokens for links that are sent to customers; each is good for one purpose and one customer.

A token is a nonce and its signature. The nonce is also kept with what the link opens, so that a used or replaced link
is dead; the signature lets a wrong link be refused without a look at any nonce.
"""

import base64
import secrets

from django.utils.crypto import constant_time_compare, salted_hmac

ACTIVATION = "activation"


def new_nonce() -> str:
    """A fresh nonce of 192 random bits."""
    return secrets.token_urlsafe(24)


def make_token(purpose: str, *, shop_id: int, customer_id: int, nonce: str) -> str:
    """The token of a nonce."""
    return f"{nonce}.{_signature(purpose, shop_id, customer_id, nonce)}"


def read_token(purpose: str, token: str, *, shop_id: int, customer_id: int) -> str | None:
    """The nonce in a token; None where the token was not made for this purpose, shop and customer."""
    nonce, _, signature = token.partition(".")
    expected = _signature(purpose, shop_id, customer_id, nonce)
    return nonce if constant_time_compare(signature.encode(), expected.encode()) and nonce else None


def _signature(purpose: str, shop_id: int, customer_id: int, nonce: str) -> str:
    digest = salted_hmac(f"apps.customers.{purpose}", f"{shop_id}:{customer_id}:{nonce}", algorithm="sha256").digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
