"""Who listens to a shop, as the recorder of events asks: per topic the API versions, and the metafields wanted besides.

Worked out once per process and number of ``apps.shops.domain.listening``; a shop whose number is 0 has no listeners.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Model

from apps.events.models import Event
from apps.ground.tenancy import current_shop, every_shop
from apps.shops.domain.listening import listening_version
from apps.shops.models import Installation, Shop
from apps.webhooks.domain import topics
from apps.webhooks.domain.engine.loop.doorbell import ring_after_commit
from apps.webhooks.domain.subscriptions import kept, told_in
from apps.webhooks.models import Pending, Subscription

_KEPT_SHOPS = 10_000
_NOBODY: frozenset[str] = frozenset()

# The metafields of a row in namespaces, or with names, as REST shows them in a version.
ReadMetafields = Callable[[Model, str, "Wanted"], list[dict[str, object]]]


@dataclass(slots=True)
class Wanted:
    """What the listeners of one topic want: versions, and metafields by namespace or by namespace and key."""

    versions: frozenset[str] = _NOBODY
    namespaces: set[str] = field(default_factory=set)
    metafields: set[tuple[str, str]] = field(default_factory=set)

    def add(self, subscription: Subscription) -> None:
        """What one subscription wants."""
        self.versions |= {subscription.api_version}
        self.namespaces.update(subscription.metafield_namespaces)
        self.metafields.update((each["namespace"], each["key"]) for each in subscription.metafields)


_known: OrderedDict[int, tuple[int, Mapping[str, Wanted]]] = OrderedDict()
_lock = threading.Lock()
_readers: list[ReadMetafields] = []


def use_metafields(read: ReadMetafields) -> None:
    """Say how metafields are shown; the REST face does so when it starts."""
    _readers[:] = [read]


def audience(shop: Shop, topic: str) -> frozenset[str]:
    """The API versions in which somebody wants the payloads of a shop's topic."""
    number = listening_version(shop)
    if not number:
        return _NOBODY
    wanted = _wanted(shop, number).get(topic)
    return _NOBODY if wanted is None else wanted.versions


def note(told: Sequence[tuple[Event, Model]]) -> None:
    """Mark events that somebody listens to as pending, with the metafields that go along."""
    shop = current_shop()
    rows = [Pending(shop=shop, event=event, metafields=_metafields(shop, event.topic, row)) for event, row in told]
    if len(rows) == 1:
        rows[0].save(force_insert=True)
    else:
        Pending.objects.bulk_create(rows)
    ring_after_commit()


def _metafields(shop: Shop, topic: str, instance: Model) -> dict[str, list[dict[str, object]]] | None:
    wanted = _wanted(shop, listening_version(shop)).get(topic)
    if wanted is None or not (wanted.namespaces or wanted.metafields):
        return None
    return {version: read(instance, version, wanted) for read in _readers for version in sorted(wanted.versions)}


def _wanted(shop: Shop, number: int) -> Mapping[str, Wanted]:
    """By topic, what is wanted of a shop."""
    known = _known.get(shop.pk)
    if known is not None and known[0] == number:
        return known[1]
    found = _work_out(shop)
    with _lock:
        _known[shop.pk] = (number, found)
        _known.move_to_end(shop.pk)
        while len(_known) > _KEPT_SHOPS:
            _known.popitem(last=False)
    return found


def _work_out(shop: Shop) -> Mapping[str, Wanted]:
    found: dict[str, Wanted] = {}
    with every_shop():
        here = Installation.objects.filter(shop=shop, uninstalled_at=None)
        granted = {installation.app_id: installation.granted for installation in here}
        for subscription in told_in(shop):
            if hears(subscription, granted.get(subscription.app_id, _NOBODY)):
                found.setdefault(subscription.topic, Wanted()).add(subscription)
        left = Installation.objects.filter(shop=shop).exclude(uninstalled_at=None).values("app_id")
        for subscription in kept().filter(shop=None, topic=topics.SHOP_REDACT, app_id__in=left):
            found.setdefault(subscription.topic, Wanted()).add(subscription)
    return found


def hears(subscription: Subscription, granted: frozenset[str]) -> bool:
    """Whether an app's scopes let a subscription hear of its topic."""
    if subscription.topic not in topics.COMPLIANCE and not topics.is_offered(subscription.topic):
        return False
    return not topics.scope_missing(subscription.topic, granted)
