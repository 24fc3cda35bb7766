"""Slow down password guessing without locking out the owner of an account.

Login attempts fill leaky buckets, and a successful login takes its attempt back. All processes share the buckets (see
``throttling``). Each network has a bucket for all accounts and a bucket per account, which leaks once a minute. The
bucket of the account itself fills only if several networks attack together.

A browser that has logged in to the account before is a known device. A known device has its own bucket for the account,
so attacks from elsewhere do not affect it. The bucket of the account itself does not apply to accounts with a second
factor, because their password alone opens nothing.
"""

import secrets
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponseBase
from django.utils.crypto import salted_hmac

from apps.core.rest.requests.throttling import consume_bucket

ATTEMPTS = 5
RETRY_AFTER_SECONDS = 60
NETWORK_ATTEMPTS_PER_MINUTE = 30
ACCOUNT_ATTEMPTS = 50
ACCOUNT_ATTEMPTS_PER_MINUTE = 10
IPV6_PREFIX = 64
DEVICE_SECONDS = 365 * 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class _Bucket:
    key: str
    size: int
    per_minute: int

    def add(self, attempts: int) -> bool:
        """Add attempts, or take negative ones back. Return False if the bucket is full."""
        # The prefix of the cache separates installations that share a Redis server.
        key = cache.make_key(f"login:{_digest(self.key)}")
        return consume_bucket(key, self.size, self.per_minute / 60, attempts)[1]


def count_attempt(request: HttpRequest, email: str) -> bool:
    """Count a login attempt. Return False if the client must wait; such an attempt is not counted."""
    counted: list[_Bucket] = []
    for bucket in _get_buckets(request, email):
        if not bucket.add(1):
            for earlier in counted:
                earlier.add(-1)
            return False
        counted.append(bucket)
    return True


def restore_attempt(request: HttpRequest, email: str) -> None:
    """Take back the attempt of a successful login."""
    for bucket in _get_buckets(request, email):
        bucket.add(-1)


def remember_device(request: HttpRequest, response: HttpResponseBase, email: str) -> None:
    """Make the browser a known device of the account."""
    response.set_signed_cookie(
        _get_cookie_name(email),
        _get_device(request, email) or secrets.token_urlsafe(16),
        max_age=DEVICE_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _get_buckets(request: HttpRequest, email: str) -> list[_Bucket]:
    if device := _get_device(request, email):
        return [_Bucket(f"device:{email}:{device}", ATTEMPTS, 1)]
    network = _get_network(request)
    buckets = [
        _Bucket(f"network:{network}", NETWORK_ATTEMPTS_PER_MINUTE, NETWORK_ATTEMPTS_PER_MINUTE),
        _Bucket(f"account:{email}:{network}", ATTEMPTS, 1),
    ]
    factors = Authenticator.objects.filter(user__email=email).exclude(type=Authenticator.Type.RECOVERY_CODES)
    if not factors.exists():
        buckets.append(_Bucket(f"account:{email}", ACCOUNT_ATTEMPTS, ACCOUNT_ATTEMPTS_PER_MINUTE))
    return buckets


def _get_device(request: HttpRequest, email: str) -> str | None:
    device: str | None = request.get_signed_cookie(_get_cookie_name(email), default=None, max_age=DEVICE_SECONDS)
    return device


def _get_network(request: HttpRequest) -> str:
    """Return the client's IPv4 address or IPv6 network."""
    text = request.META.get("REMOTE_ADDR", "")
    try:
        address = ip_address(text)
    except ValueError:
        return text
    if address.version == 6 and address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ip_network(f"{address}/{IPV6_PREFIX}", strict=False)) if address.version == 6 else text


def _get_cookie_name(email: str) -> str:
    return f"device_{_digest(email)[:16]}"


def _digest(text: str) -> str:
    """Return a digest that clients cannot predict."""
    return salted_hmac("apps.staff.accounts.login_limits", text, algorithm="sha256").hexdigest()
