"""Who wants an event: the subscriptions of a shop by topic, with filters compiled, kept while its listeners stay."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q

from apps.events.models import Event
from apps.query.predicate import Predicate, filter_of
from apps.shops.models import Installation, Shop
from apps.webhooks.domain import topics
from apps.webhooks.domain.destinations import host_of
from apps.webhooks.domain.engine.pacing import digest_of, limits_of
from apps.webhooks.domain.listening import hears
from apps.webhooks.domain.subscriptions import told_in
from apps.webhooks.models import Endpoint, Subscription

_KEPT_SHOPS = 5_000


@dataclass(slots=True)
class Match:
    """A subscription, ready to be asked: its filter compiled, its app's scopes and its endpoint known."""

    subscription: Subscription
    fits: Predicate | None
    granted: frozenset[str] = frozenset()
    endpoint: int | None = None


# By shop: the number of its listeners, and by topic who they are.
_matches: OrderedDict[int, tuple[int, dict[str, list[Match]]]] = OrderedDict()


def listeners(shop: Shop, event: Event) -> Iterable[Match]:
    """Who may want an event of a shop; their filters are still to be asked."""
    if event.topic in topics.OF_AN_APP:
        return [_match(each) for each in _of_the_app(event)]
    return _matches_of(shop).get(event.topic, ())


def forget() -> None:
    """Forget all that is kept: it may name endpoints that were undone with a transaction."""
    _matches.clear()


def _matches_of(shop: Shop) -> dict[str, list[Match]]:
    """By topic, who listens to a shop; kept for as long as the number of its listeners stays."""
    known = _matches.get(shop.pk)
    if known is not None and known[0] == shop.listening_version:
        return known[1]
    here = Installation.objects.filter(shop=shop, uninstalled_at=None)
    granted = {installation.app_id: installation.granted for installation in here}
    found: dict[str, list[Match]] = {}
    for subscription in told_in(shop):
        scopes = granted.get(subscription.app_id, frozenset())
        if hears(subscription, scopes):
            found.setdefault(subscription.topic, []).append(_match(subscription, scopes))
    _matches[shop.pk] = (shop.listening_version, found)
    _matches.move_to_end(shop.pk)
    while len(_matches) > _KEPT_SHOPS:
        _matches.popitem(last=False)
    return found


def _match(subscription: Subscription, granted: frozenset[str] = frozenset()) -> Match:
    text = subscription.filter.strip()
    return Match(subscription, filter_of(text) if text else None, granted)


def _of_the_app(event: Event) -> Iterable[Subscription]:
    """The subscriptions of the app whose installation an event tells of, those that went with it included."""
    rows = Subscription.objects.get_queryset().filter(
        Q(deleted_at=None) | Q(removed_by_uninstalling=True, deleted_at__gte=event.created_at - timedelta(seconds=1)),
        Q(shop=event.shop_id) | Q(shop=None),
        app__installations=event.subject_id,
        topic=event.topic,
    )
    return rows.distinct()


def endpoint_for(shop: int, uri: str) -> Endpoint:
    """The lane of a URI in a shop, with the limits of its subscriptions; made where there is none."""
    limits = limits_of(shop, uri)
    values = {"uri": uri, "host": host_of(uri), **limits}
    endpoint, _ = Endpoint.objects.get_or_create(shop_id=shop, uri_digest=digest_of(uri), defaults=values)
    if any(getattr(endpoint, name) != value for name, value in limits.items()):
        Endpoint.objects.filter(pk=endpoint.pk).update(**limits)
    return endpoint
