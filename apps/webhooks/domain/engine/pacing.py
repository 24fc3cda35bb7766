"""How fast a receiver is called: how many calls at once, and how many begin in a second.

An endpoint has the strictest of what the subscriptions that go there ask for, kept beside it, so that a change holds
for what waits already. A cap by the second is a bucket of tokens in the endpoint's row, by the database's clock: all
dispatchers take from the same one, and only endpoints with a cap cost statements. It holds a tenth of a second's
tokens, at least one, so that no second sees more than eleven tenths of the cap.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F, Min, Q, QuerySet
from django.db.models.functions import Now

from apps.ground.tenancy import every_shop
from apps.webhooks.models import Endpoint, Subscription

# Calls under way at once, where nobody says otherwise.
AT_ONCE = 10
_BURST = 0.1


@dataclass(frozen=True, slots=True)
class Grant:
    """How many calls may begin, and after how many seconds one more may."""

    count: int
    rest: float


def digest_of(uri: str) -> str:
    """By which the endpoint of a URI is found."""
    return hashlib.sha256(uri.encode()).hexdigest()


def limits_of(shop: int, uri: str) -> dict[str, Any]:
    """What the subscriptions of a shop to a URI ask for, as columns of its endpoint."""
    with every_shop():
        return _strictest(_bound_for(uri).filter(Q(shop=shop) | Q(shop=None)))


def follow(uri: str, shop: int | None) -> None:
    """Put the limits of subscriptions to a URI on its endpoint, in a shop or (None) in all."""
    digest = digest_of(uri)
    with every_shop():
        there = Endpoint.objects.filter(uri_digest=digest)
        if shop is not None:
            there.filter(shop=shop).update(**limits_of(shop, uri))
            return
        own = list(_bound_for(uri).filter(shop__isnull=False).values_list("shop", flat=True).distinct())
        there.exclude(shop__in=own).update(**_strictest(_bound_for(uri).filter(shop=None)))
        for each in own:
            there.filter(shop=each).update(**limits_of(each, uri))


def take(wanted: Mapping[int, int]) -> dict[int, Grant]:
    """Take tokens of endpoints that have a cap.

    Args:
        wanted: By endpoint, how many at most.
    """
    granted: dict[int, Grant] = {}
    with transaction.atomic(), every_shop():
        capped = Endpoint.objects.filter(pk__in=list(wanted), max_per_second__isnull=False)
        for row in capped.select_for_update(no_key=True).order_by("pk").annotate(now=Now()):
            rate = row.max_per_second or 1
            since = row.now - row.tokens_at if row.tokens_at else None
            tokens = row.tokens + max(0.0, since.total_seconds()) * rate if since is not None else float(rate)
            tokens = min(tokens, max(1.0, rate * _BURST))
            count = min(wanted[row.pk], int(tokens))
            left = tokens - count
            granted[row.pk] = Grant(count, 0.0 if left >= 1 else (1 - left) / rate)
            Endpoint.objects.filter(pk=row.pk).update(tokens=left, tokens_at=row.now)
    return granted


def give_back(unused: Mapping[int, int]) -> None:
    """Put tokens back with which nothing was begun."""
    with every_shop():
        for pk, count in unused.items():
            Endpoint.objects.filter(pk=pk).update(tokens=F("tokens") + count)


def _bound_for(uri: str) -> QuerySet[Subscription]:
    return Subscription.objects.filter(uri=uri, deleted_at=None)


def _strictest(rows: QuerySet[Subscription]) -> dict[str, Any]:
    found = rows.order_by().aggregate(at_once=Min("max_in_flight"), a_second=Min("max_per_second"))
    return {"max_in_flight": found["at_once"] or AT_ONCE, "max_per_second": found["a_second"]}
