"""Rate limits of endpoints: the maximum number of concurrent calls and of calls per second.

An endpoint row stores the strictest limits of all subscriptions with this endpoint, so a change also applies to waiting
deliveries. The limit per second is implemented as a token bucket in the endpoint row. All dispatchers share the bucket,
which uses the database clock. Only endpoints with a limit per second need extra queries. The bucket's capacity is a
tenth of the limit per second, but at least one token. Therefore, the number of calls that start in any second exceeds
the limit by at most ten percent, or by one call if that is more.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F, Min, Q, QuerySet
from django.db.models.functions import Now

from apps.core.tenancy.scope import all_shops_scope
from apps.webhooks.domain.endpoints import get_host
from apps.webhooks.models import Endpoint, Subscription

# The default number of concurrent calls.
DEFAULT_MAX_IN_FLIGHT = 10
_BURST = 0.1


@dataclass(frozen=True, slots=True)
class TokenGrant:
    """The number of calls that may start now, and the seconds until another call may start."""

    count: int
    wait_seconds: float


def get_uri_digest(uri: str) -> str:
    return hashlib.sha256(uri.encode()).hexdigest()


def get_strictest_limits(shop: int, uri: str) -> dict[str, Any]:
    """Return the strictest limits of all subscriptions that send a shop's events to a URI."""
    with all_shops_scope():
        return _strictest(_bound_for(uri).filter(Q(shop=shop) | Q(shop=None)))


def update_endpoint_limits(uri: str, shop: int | None) -> None:
    """Update the limits of a URI's endpoints in a shop, or in all shops, after a change to subscriptions."""
    with all_shops_scope():
        endpoints = Endpoint.objects.filter(uri_digest=get_uri_digest(uri))
        if shop is not None:
            endpoints.filter(shop=shop).update(**get_strictest_limits(shop, uri))
            return
        shops_with_own = list(_bound_for(uri).filter(shop__isnull=False).values_list("shop", flat=True).distinct())
        endpoints.exclude(shop__in=shops_with_own).update(**_strictest(_bound_for(uri).filter(shop=None)))
        for shop_id in shops_with_own:
            endpoints.filter(shop=shop_id).update(**get_strictest_limits(shop_id, uri))


def take_tokens(requested_tokens: Mapping[int, int]) -> dict[int, TokenGrant]:
    """Take up to this many tokens, keyed by endpoint ID, from the buckets of endpoints that have a limit per second."""
    granted: dict[int, TokenGrant] = {}
    with transaction.atomic(), all_shops_scope():
        capped = Endpoint.objects.filter(pk__in=list(requested_tokens), max_per_second__isnull=False)
        for row in capped.select_for_update(no_key=True).order_by("pk").annotate(now=Now()):
            rate = row.max_per_second or 1
            since = row.now - row.tokens_at if row.tokens_at else None
            tokens = row.tokens + max(0.0, since.total_seconds()) * rate if since is not None else float(rate)
            tokens = min(tokens, max(1.0, rate * _BURST))
            count = min(requested_tokens[row.pk], int(tokens))
            remaining = tokens - count
            granted[row.pk] = TokenGrant(count, 0.0 if remaining >= 1 else (1 - remaining) / rate)
            Endpoint.objects.filter(pk=row.pk).update(tokens=remaining, tokens_at=row.now)
    return granted


def return_tokens(unused: Mapping[int, int]) -> None:
    with all_shops_scope():
        for pk, count in unused.items():
            Endpoint.objects.filter(pk=pk).update(tokens=F("tokens") + count)


def _bound_for(uri: str) -> QuerySet[Subscription]:
    return Subscription.objects.filter(uri=uri, deleted_at=None)


def _strictest(rows: QuerySet[Subscription]) -> dict[str, Any]:
    minimums = rows.order_by().aggregate(at_once=Min("max_in_flight"), a_second=Min("max_per_second"))
    return {"max_in_flight": minimums["at_once"] or DEFAULT_MAX_IN_FLIGHT, "max_per_second": minimums["a_second"]}


def get_or_create_endpoint(shop: int, uri: str) -> Endpoint:
    """Return the endpoint for a URI in a shop, with current limits; create the endpoint if necessary."""
    limits = get_strictest_limits(shop, uri)
    values = {"uri": uri, "host": get_host(uri), **limits}
    endpoint, _ = Endpoint.objects.get_or_create(shop_id=shop, uri_digest=get_uri_digest(uri), defaults=values)
    if any(getattr(endpoint, name) != value for name, value in limits.items()):
        Endpoint.objects.filter(pk=endpoint.pk).update(**limits)
    return endpoint
