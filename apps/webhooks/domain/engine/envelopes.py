"""The headers around a delivery's bytes: the interface's own and those of Standard Webhooks.

Rule: spec part B, Events; header names go out exactly as written here.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from uuid import UUID

from django.conf import settings

from apps.webhooks.domain.engine.claims import Claim
from apps.webhooks.domain.engine.signing import body_signature, standard_signature


@cache
def _names(brand: str) -> tuple[str, ...]:
    """The interface's own headers under a brand, in the order in which they are sent."""
    words = ("Topic", "Hmac-Sha256", "Shop-Domain", "API-Version", "Webhook-Id", "Triggered-At", "Event-Id")
    return tuple(f"X-{brand.capitalize()}-{word}" for word in (*words, "Name", "Redelivery"))


def headers_of(claim: Claim, secrets: Sequence[str], timestamp: int) -> dict[str, str]:
    """The headers of one attempt at a delivery.

    Args:
        claim: What is sent.
        secrets: Those of its app that sign now, the one that receivers surely know first.
        timestamp: When the attempt is made, in seconds since 1970; the second kind of signature covers it.
    """
    headers = signed_headers(
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
    *_, name, redelivery = _names(settings.BRAND)
    if claim.name:
        headers[name] = claim.name
    if claim.redelivery:
        headers[redelivery] = "true"
    return headers


def signed_headers(
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
    """The headers that say what a request of ours is, and prove that it is ours.

    Args:
        topic: What it is about.
        body: Its bytes, which are signed.
        key: Tells it from all others, and is the same in each attempt.
        domain: The shop's.
        api_version: The version of the interface that its content is of.
        triggered_at: When what it tells of happened.
        secrets: As for ``headers_of``.
        timestamp: As for ``headers_of``.
        group: What it shares with others of the same action.
    """
    topic_name, signature, shop, version, identity, moment, event, *_ = _names(settings.BRAND)
    return {
        "Content-Type": "application/json",
        topic_name: topic,
        signature: body_signature(secrets[0], body),
        shop: domain,
        version: api_version,
        identity: str(key),
        moment: f"{triggered_at.astimezone(UTC).replace(tzinfo=None).isoformat()}Z",
        event: str(group or key),
        "webhook-id": str(key),
        "webhook-timestamp": str(timestamp),
        "webhook-signature": standard_signature(secrets, str(key), timestamp, body),
    }
