"""How deliveries are signed.

The key is the app's secret, as UTF-8. ``X-…-Hmac-Sha256`` holds one signature: while a secret is being replaced that of
the old one, which receivers know, until the grace ends or the app confirms the new one (see
``apps.shops.domain.app_secrets``).
``webhook-signature`` (Standard Webhooks) carries one for each secret. Its libraries take the secret as
``standard_secret`` writes it.
"""

import base64
import hashlib
import hmac
from collections.abc import Sequence


def standard_secret(secret: str) -> str:
    """A secret as the libraries of Standard Webhooks take it."""
    return f"whsec_{base64.b64encode(secret.encode()).decode()}"


def body_signature(secret: str, body: bytes) -> str:
    """The signature over a body alone."""
    return base64.b64encode(hmac.digest(secret.encode(), body, hashlib.sha256)).decode()


def standard_signature(secrets_: Sequence[str], message_id: str, timestamp: int, body: bytes) -> str:
    """The signatures over id, time and body, one for each secret."""
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return " ".join(
        f"v1,{base64.b64encode(hmac.digest(secret.encode(), signed, hashlib.sha256)).decode()}" for secret in secrets_
    )
