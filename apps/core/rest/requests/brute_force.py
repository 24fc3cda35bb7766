"""Limit attempts to guess a secret, with leaky buckets in the rate limiter's store.

Each attempt is counted before the secret is checked, so concurrent wrong attempts cannot exceed the limit. If the
secret is correct, the attempt is removed from the count, so correct attempts are not limited. Every bucket is bound to
a client address, so an attacker cannot lock out the owner of the secret.
"""

import hashlib
import ipaddress
import math
from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings

from apps.core.rest.requests.throttling import consume_bucket


@dataclass(frozen=True, slots=True)
class AttemptBucket:
    """A limit on wrong attempts: ``size`` attempts at once, and ``leak`` more attempts per second."""

    key: str
    size: int
    leak: float


def get_attempt_buckets(kind: str, name: str, address: str) -> tuple[AttemptBucket, AttemptBucket]:
    """Return two buckets: a small bucket for the name at this address, and a larger bucket for the address alone."""
    key = f"guess:{kind}:{get_origin_network(address)}"
    name_hash = hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
    return AttemptBucket(f"{key}:{name_hash}", 10, 1 / 6), AttemptBucket(key, 100, 1.0)


def count_attempt(buckets: Iterable[AttemptBucket]) -> int:
    """Count an attempt and return the seconds to wait, or 0 if the attempt is allowed."""
    admitted_buckets: list[AttemptBucket] = []
    longest = 0
    for bucket in buckets if settings.RATE_LIMIT else ():
        level, admitted = consume_bucket(bucket.key, bucket.size, bucket.leak, 1)
        if admitted:
            admitted_buckets.append(bucket)
        else:
            longest = max(longest, math.ceil((level + 1 - bucket.size) / bucket.leak))
    if longest:
        uncount_attempt(admitted_buckets)
    return longest


def uncount_attempt(buckets: Iterable[AttemptBucket]) -> None:
    """Remove an attempt from the buckets because the secret was correct or was not checked."""
    for bucket in buckets if settings.RATE_LIMIT else ():
        consume_bucket(bucket.key, bucket.size, bucket.leak, -1)


def get_origin_network(address: str) -> str:
    """Return the origin for which attempts are counted: the IPv4 address, or the /64 network of the IPv6 address."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(ip, ipaddress.IPv6Address):
        ipv4 = ip.ipv4_mapped
        return str(ipv4) if ipv4 else str(ipaddress.ip_network((ip.packed[:8] + bytes(8), 64)))
    return str(ip)
