"""Who guesses secrets is slowed down: leaky buckets of attempts, kept beside those of the rate limit.

An attempt is poured in before the secret is looked at and taken out again when it was right, so any number of right
ones pass, and of wrong ones that come at once no more than the bucket holds. It is kept by the address it comes from,
so nobody can lock out the one whose secret they guess.
"""

import hashlib
import ipaddress
import math
from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings

from apps.api.requests.throttling import poured


@dataclass(frozen=True, slots=True)
class Bucket:
    """How many wrong attempts are let through at once, and how many more each second, under a key."""

    key: str
    size: int
    leak: float


def buckets_of(kind: str, name: str, address: str) -> tuple[Bucket, Bucket]:
    """The buckets of an attempt: one for who is named from an address, a larger one for whatever that address tries."""
    origin, named = origin_of(address), hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
    return Bucket(f"guess:{kind}:{origin}:{named}", 10, 1 / 6), Bucket(f"guess:{kind}:{origin}", 100, 1.0)


def wait_before(buckets: Iterable[Bucket]) -> int:
    """Count an attempt; the seconds to wait where there were too many, else 0."""
    taken: list[Bucket] = []
    longest = 0
    for bucket in buckets if settings.RATE_LIMIT else ():
        level, admitted = _pour(bucket, 1)
        if admitted:
            taken.append(bucket)
        else:
            longest = max(longest, math.ceil((level + 1 - bucket.size) / bucket.leak))
    if longest:
        was_right(taken)
    return longest


def was_right(buckets: Iterable[Bucket]) -> None:
    """An attempt that guessed nothing, or was not looked at, counts no more."""
    for bucket in buckets if settings.RATE_LIMIT else ():
        _pour(bucket, -1)


def origin_of(address: str) -> str:
    """Whose attempts are counted together: an IPv4 address, or the network of 64 bits that one subscriber has."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv6Address):
        mapped = found.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((found.packed[:8] + bytes(8), 64)))
    return str(found)


def _pour(bucket: Bucket, amount: int) -> tuple[float, bool]:
    return poured(bucket.key, bucket.size, bucket.leak, amount)
