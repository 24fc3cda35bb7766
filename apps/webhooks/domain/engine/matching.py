"""Find the subscriptions that match an event. Subscriptions and compiled filters are cached by shop and topic."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q

from apps.core.events.models import Event
from apps.core.search_query.predicate import Predicate, compile_filter
from apps.core.tenancy.models import Installation, Shop
from apps.webhooks.domain import topics
from apps.webhooks.domain.audience import may_receive
from apps.webhooks.domain.subscriptions import get_subscriptions_for_shop
from apps.webhooks.models import Subscription

_CACHED_SHOPS = 5_000


@dataclass(slots=True)
class CompiledSubscription:
    subscription: Subscription
    predicate: Predicate | None
    granted: frozenset[str] = frozenset()
    endpoint: int | None = None


# Maps a shop to its subscriber version and its subscriptions by topic.
_matches: OrderedDict[int, tuple[int, dict[str, list[CompiledSubscription]]]] = OrderedDict()


def find_candidates(shop: Shop, event: Event) -> Iterable[CompiledSubscription]:
    """Return the subscriptions that may receive an event. The caller must still apply their filters."""
    if event.topic in topics.INSTALLATION_TOPICS:
        return [_compile_match(subscription) for subscription in _get_installation_subscriptions(event)]
    return _get_matches(shop).get(event.topic, ())


def clear_match_cache() -> None:
    """Clear the cache, which may contain endpoints of a transaction that was rolled back."""
    _matches.clear()


def _get_matches(shop: Shop) -> dict[str, list[CompiledSubscription]]:
    """Return a shop's subscriptions, keyed by topic and cached until the shop's subscriber version changes."""
    cached = _matches.get(shop.pk)
    if cached is not None and cached[0] == shop.listening_version:
        return cached[1]
    installations = Installation.objects.filter(shop=shop, uninstalled_at=None)
    granted = {installation.app_id: installation.all_scopes for installation in installations}
    matches_by_topic: dict[str, list[CompiledSubscription]] = {}
    for subscription in get_subscriptions_for_shop(shop):
        scopes = granted.get(subscription.app_id, frozenset())
        if may_receive(subscription, scopes):
            matches_by_topic.setdefault(subscription.topic, []).append(_compile_match(subscription, scopes))
    _matches[shop.pk] = (shop.listening_version, matches_by_topic)
    _matches.move_to_end(shop.pk)
    while len(_matches) > _CACHED_SHOPS:
        _matches.popitem(last=False)
    return matches_by_topic


def _compile_match(subscription: Subscription, granted: frozenset[str] = frozenset()) -> CompiledSubscription:
    text = subscription.filter.strip()
    return CompiledSubscription(subscription, compile_filter(text) if text else None, granted)


def _get_installation_subscriptions(event: Event) -> Iterable[Subscription]:
    """Return the subscriptions of the event's app, even if they were deleted because the app was uninstalled."""
    rows = Subscription.objects.get_queryset().filter(
        Q(deleted_at=None) | Q(removed_by_uninstalling=True, deleted_at__gte=event.created_at - timedelta(seconds=1)),
        Q(shop=event.shop_id) | Q(shop=None),
        app__installations=event.subject_id,
        topic=event.topic,
    )
    return rows.distinct()
