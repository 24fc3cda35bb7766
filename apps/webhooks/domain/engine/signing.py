"""Sign deliveries.

The key is the app's secret, encoded as UTF-8. ``X-…-Hmac-Sha256`` contains a single signature. While a secret is being
replaced, this signature uses the old secret, which the app already knows, until the grace period ends or the app
confirms the new secret (see ``apps.shops.domain.app_secrets``). ``webhook-signature`` (Standard Webhooks) contains one
signature per secret. The libraries of Standard Webhooks expect the secret in the format of ``format_standard_secret``.
"""

import base64
import hashlib
import hmac
from collections.abc import Sequence


def format_standard_secret(secret: str) -> str:
    """Format a secret for the libraries of Standard Webhooks."""
    return f"whsec_{base64.b64encode(secret.encode()).decode()}"


def sign_body(secret: str, body: bytes) -> str:
    """Return the signature of a body for ``X-…-Hmac-Sha256``."""
    return base64.b64encode(hmac.digest(secret.encode(), body, hashlib.sha256)).decode()


def sign_message(secrets_: Sequence[str], message_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of ``webhook-signature``: for each secret, a signature of the ID, time and body."""
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return " ".join(
        f"v1,{base64.b64encode(hmac.digest(secret.encode(), signed, hashlib.sha256)).decode()}" for secret in secrets_
    )
