"""Build the headers of deliveries, with their signatures: the brand's headers and the headers of Standard Webhooks.

Header names are sent exactly as this module spells them. The signing key is the app's secret, encoded as UTF-8.
``X-…-Hmac-Sha256`` contains a single signature. While a secret is being replaced, this signature uses the old secret,
which the app already knows, until the grace period ends or the app confirms the new secret (see
``apps.shops.domain.app_secrets``). ``webhook-signature`` (Standard Webhooks) contains one signature per secret. The
libraries of Standard Webhooks expect the secret in Base64 after ``whsec_``.
"""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from uuid import UUID

from django.conf import settings

from apps.webhooks.domain.engine.claims import Claim


def sign_body(secret: str, body: bytes) -> str:
    return base64.b64encode(hmac.digest(secret.encode(), body, hashlib.sha256)).decode()


def sign_message(secrets_: Sequence[str], message_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of ``webhook-signature``: for each secret, a signature of the ID, time and body."""
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return " ".join(f"v1,{sign_body(secret, signed)}" for secret in secrets_)


@cache
def _names(brand: str) -> tuple[str, ...]:
    """Return the names of the brand's headers, in the order in which they are sent."""
    words = ("Topic", "Hmac-Sha256", "Shop-Domain", "API-Version", "Webhook-Id", "Triggered-At", "Event-Id")
    return tuple(f"X-{brand.capitalize()}-{word}" for word in (*words, "Sequence", "Name", "Redelivery"))


def get_signature_header() -> str:
    return _names(settings.BRAND)[1]


def build_headers(claim: Claim, secrets: Sequence[str], timestamp: int) -> dict[str, str]:
    """Build the headers of an attempt at ``timestamp`` (in seconds since 1970). The app knows the first secret."""
    headers = build_signed_headers(
        claim.topic,
        claim.body,
        key=claim.key,
        group=claim.group,
        domain=claim.domain,
        api_version=claim.api_version,
        triggered_at=claim.triggered_at,
        secrets=secrets,
        timestamp=timestamp,
    )
    *_, sequence, name, redelivery = _names(settings.BRAND)
    if claim.sequence is not None:
        headers[sequence] = str(claim.sequence)
    if claim.name:
        headers[name] = claim.name
    if claim.redelivery:
        headers[redelivery] = "true"
    return headers


def build_signed_headers(
    topic: str,
    body: bytes,
    *,
    key: UUID,
    domain: str,
    api_version: str,
    triggered_at: datetime,
    secrets: Sequence[str],
    timestamp: int,
    group: UUID | None = None,
) -> dict[str, str]:
    """Build the headers that identify and sign a request. All attempts have the same ``key``.

    ``group`` is the ID that all events of an action share. For ``secrets`` and ``timestamp`` see ``build_headers``.
    """
    topic_name, signature, shop, version, identity, moment, event, *_ = _names(settings.BRAND)
    return {
        "Content-Type": "application/json",
        topic_name: topic,
        signature: sign_body(secrets[0], body),
        shop: domain,
        version: api_version,
        identity: str(key),
        moment: f"{triggered_at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z",
        event: str(group or key),
        "webhook-id": str(key),
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign_message(secrets, str(key), timestamp, body),
    }
