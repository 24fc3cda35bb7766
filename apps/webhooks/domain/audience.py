"""The audience of events: the API versions and metafields requested by a shop's subscriptions to a topic.

Each process caches the audience until the version in ``apps.core.tenancy.subscriber_version`` changes. A shop with
version 0 has no subscribers.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Model

from apps.core.events.models import Event
from apps.core.registry import Registry
from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import all_shops_scope, get_current_shop
from apps.core.tenancy.subscriber_version import get_subscriber_version
from apps.webhooks.domain import topics
from apps.webhooks.domain.engine.dispatcher.notify import notify_after_commit
from apps.webhooks.domain.subscriptions import get_subscriptions_for_shop, get_undeleted_subscriptions
from apps.webhooks.models import Pending, Subscription

_CACHED_SHOPS = 10_000
_EMPTY: frozenset[str] = frozenset()


@dataclass(slots=True)
class TopicAudience:
    versions: frozenset[str] = _EMPTY
    namespaces: set[str] = field(default_factory=set)
    metafields: set[tuple[str, str]] = field(default_factory=set)

    def add(self, subscription: Subscription) -> None:
        self.versions |= {subscription.api_version}
        self.namespaces.update(subscription.metafield_namespaces)
        self.metafields.update((identifier["namespace"], identifier["key"]) for identifier in subscription.metafields)


_cache: OrderedDict[int, tuple[int, Mapping[str, TopicAudience]]] = OrderedDict()
_lock = threading.Lock()
# Functions that render the metafields of a row that the audience requests, in an API version.
metafield_renderers = Registry[str, Callable[[Model, str, TopicAudience], list[dict[str, object]]]](
    "metafield renderers"
)


def get_api_versions(shop: Shop, topic: str) -> frozenset[str]:
    number = get_subscriber_version(shop)
    if not number:
        return _EMPTY
    return _get_audiences(shop, number).get(topic, TopicAudience()).versions


def add_to_outbox(events: Sequence[tuple[Event, Model]]) -> None:
    shop = get_current_shop()
    rows = [
        Pending(shop=shop, event=event, metafields=_render_metafields(shop, event.topic, row)) for event, row in events
    ]
    if len(rows) == 1:
        rows[0].save(force_insert=True)
    else:
        Pending.objects.bulk_create(rows)
    notify_after_commit()


def _render_metafields(shop: Shop, topic: str, instance: Model) -> dict[str, list[dict[str, object]]] | None:
    topic_audience = _get_audiences(shop, get_subscriber_version(shop)).get(topic, TopicAudience())
    if not (topic_audience.namespaces or topic_audience.metafields):
        return None
    return {
        version: render(instance, version, topic_audience)
        for render in metafield_renderers.values()
        for version in sorted(topic_audience.versions)
    }


def _get_audiences(shop: Shop, number: int) -> Mapping[str, TopicAudience]:
    cached = _cache.get(shop.pk)
    if cached is not None and cached[0] == number:
        return cached[1]
    audiences = _load_audiences(shop)
    with _lock:
        _cache[shop.pk] = (number, audiences)
        _cache.move_to_end(shop.pk)
        while len(_cache) > _CACHED_SHOPS:
            _cache.popitem(last=False)
    return audiences


def _load_audiences(shop: Shop) -> Mapping[str, TopicAudience]:
    audiences: dict[str, TopicAudience] = {}
    with all_shops_scope():
        installations = Installation.objects.filter(shop=shop, uninstalled_at=None)
        granted = {installation.app_id: installation.all_scopes for installation in installations}
        for subscription in get_subscriptions_for_shop(shop):
            if may_receive(subscription, granted.get(subscription.app_id, _EMPTY)):
                audiences.setdefault(subscription.topic, TopicAudience()).add(subscription)
        former_apps = Installation.objects.filter(shop=shop).exclude(uninstalled_at=None).values("app_id")
        for subscription in get_undeleted_subscriptions().filter(
            shop=None, topic=topics.SHOP_REDACT, app_id__in=former_apps
        ):
            audiences.setdefault(subscription.topic, TopicAudience()).add(subscription)
    return audiences


def may_receive(subscription: Subscription, granted: frozenset[str]) -> bool:
    if subscription.topic not in topics.COMPLIANCE_TOPICS and not topics.is_offered(subscription.topic):
        return False
    return not topics.get_missing_scope(subscription.topic, granted)
