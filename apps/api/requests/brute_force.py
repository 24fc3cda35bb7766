"""Brute-force protection: leaky buckets of attempts to guess a secret, in the store of the rate limiter.

An attempt is counted before the secret is checked, and uncounted if the secret was correct. So correct attempts are not
limited, and concurrent wrong attempts cannot exceed the bucket. Buckets belong to the client's address, so an attacker
cannot lock out the owner of the secret.
"""

import hashlib
import ipaddress
import math
from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings

from apps.api.requests.throttling import consume_bucket


@dataclass(frozen=True, slots=True)
class AttemptBucket:
    """A limit of wrong attempts: ``size`` at once and ``leak`` more per second, counted under a key."""

    key: str
    size: int
    leak: float


def get_attempt_buckets(kind: str, name: str, address: str) -> tuple[AttemptBucket, AttemptBucket]:
    """Return the buckets of an attempt: one for the name and address, and a larger one for the address alone."""
    origin, name_hash = get_origin_network(address), hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
    return AttemptBucket(f"guess:{kind}:{origin}:{name_hash}", 10, 1 / 6), AttemptBucket(
        f"guess:{kind}:{origin}", 100, 1.0
    )


def count_attempt(buckets: Iterable[AttemptBucket]) -> int:
    """Count an attempt, and return the seconds to wait, which are 0 if the attempt is allowed."""
    admitted_buckets: list[AttemptBucket] = []
    longest = 0
    for bucket in buckets if settings.RATE_LIMIT else ():
        level, admitted = _pour(bucket, 1)
        if admitted:
            admitted_buckets.append(bucket)
        else:
            longest = max(longest, math.ceil((level + 1 - bucket.size) / bucket.leak))
    if longest:
        uncount_attempt(admitted_buckets)
    return longest


def uncount_attempt(buckets: Iterable[AttemptBucket]) -> None:
    """Take back the count of an attempt that was correct or was not checked."""
    for bucket in buckets if settings.RATE_LIMIT else ():
        _pour(bucket, -1)


def get_origin_network(address: str) -> str:
    """Return the origin that attempts are counted for: an IPv4 address, or the /64 network of an IPv6 address."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(ip, ipaddress.IPv6Address):
        ipv4 = ip.ipv4_mapped
        return str(ipv4) if ipv4 else str(ipaddress.ip_network((ip.packed[:8] + bytes(8), 64)))
    return str(ip)


def _pour(bucket: AttemptBucket, amount: int) -> tuple[float, bool]:
    return consume_bucket(bucket.key, bucket.size, bucket.leak, amount)
