"""Making, changing and ending subscriptions: the one service behind REST, GraphQL, configuration files and the panel.

Every face gives values by the names of the columns and gets ``SubscriptionRefused`` with the same names. Whoever
changes what is listened to moves the number of ``apps.shops.domain.listening`` in the same transaction.
"""

from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Q

from apps.events.domain.changes import Changes, changes_of
from apps.events.domain.recording import record_event
from apps.ground.attrs import Given
from apps.ground.constraints import breach_of
from apps.ground.errors import Gone
from apps.ground.locks import reread
from apps.ground.rows import TimestampedQuerySet
from apps.ground.tenancy import every_shop
from apps.shops.domain.listening import listeners_changed, listeners_of_app_changed
from apps.shops.domain.locks import lock_shop
from apps.shops.models import App, Installation, Shop
from apps.webhooks.domain import topics
from apps.webhooks.domain.engine import pacing
from apps.webhooks.domain.refusals import ScopeNeeded, SubscriptionRefused
from apps.webhooks.domain.values import GIVEN, fill
from apps.webhooks.models import Subscription


def kept() -> TimestampedQuerySet[Subscription]:
    """Every subscription in sight that was not deleted."""
    return Subscription.objects.get_queryset().filter(deleted_at=None)


def subscriptions_of(shop: Shop, app: App | int) -> TimestampedQuerySet[Subscription]:
    """The subscriptions that an app made for a shop; those of its configuration file are not among them."""
    return kept().filter(shop=shop, app=app, origin=Subscription.Origin.API)


def configured_for(app: App | int) -> TimestampedQuerySet[Subscription]:
    """The subscriptions of an app's configuration file; ask with every shop in sight."""
    return kept().filter(app=app, origin=Subscription.Origin.CONFIG)


def told_in(shop: Shop) -> TimestampedQuerySet[Subscription]:
    """Every subscription that hears of a shop: the shop's own, and the configured ones of the apps that it has.

    Ask with every shop in sight.
    """
    here = Installation.objects.filter(shop=shop, uninstalled_at=None).values("app_id")
    return kept().filter(Q(shop=shop) | Q(shop=None), app_id__in=here)


@transaction.atomic
def create_subscription(installation: Installation, values: Given, *, actor: str, at: datetime) -> Subscription:
    """Subscribe an app to a topic of the shop that it is installed in; call it in the shop's scope.

    Args:
        installation: The app at work in the shop; its scopes say which topics it may hear of.
        values: ``topic``, ``uri`` and ``api_version``, and others of ``GIVEN``.
        actor: Who does it.
        at: When.

    Returns:
        The subscription; what was noticed about it stands in its ``warnings``.

    Raises:
        SubscriptionRefused: What does not fit, by field.
        ScopeNeeded: The app lacks the scope of the topic.
    """
    shop, app = installation.shop, installation.app
    made = Subscription(shop=shop, app=app, origin=Subscription.Origin.API, created_at=at)
    fill(made, values)
    require_scope(installation, made.topic)
    listeners_changed(shop)
    _save(made)
    pacing.follow(made.uri, made.shop_id)
    record_event("webhooks/create", made, actor=actor, at=at)
    return made


@transaction.atomic
def create_configured(app: App, values: Given, *, at: datetime) -> Subscription:
    """Subscribe an app, as its configuration file says, for every shop that has it or will; compliance topics too.

    Raises:
        SubscriptionRefused: What does not fit, by field.
    """
    made = Subscription(shop=None, app=app, origin=Subscription.Origin.CONFIG, created_at=at)
    fill(made, values)
    listeners_of_app_changed(app)
    with every_shop():
        _save(made)
    pacing.follow(made.uri, None)
    return made


@transaction.atomic
def update_subscription(subscription: Subscription, values: Given, *, actor: str, at: datetime) -> Changes:
    """Change a subscription; deliveries that wait already go where they were bound for.

    Args:
        subscription: As it was read; it is held and read again.
        values: Those of ``GIVEN`` that are to change; the topic stays.
        actor: Who does it.
        at: When.

    Returns:
        What changed, by field.

    Raises:
        SubscriptionRefused: What does not fit, by field.
        ScopeNeeded: The app lacks the scope of the topic by now.
    """
    _hold(subscription)
    before = {name: getattr(subscription, name) for name in (*GIVEN, "warnings", "key_digest")}
    fill(subscription, values)
    after = {name: getattr(subscription, name) for name in before}
    for name, value in before.items():
        setattr(subscription, name, value)
    changes = changes_of(subscription, after)
    if not changes:
        return {}
    if subscription.shop is not None:
        require_scope(_installation(subscription), subscription.topic)
    for name in changes:
        setattr(subscription, name, after[name])
    _changed(subscription)
    _save(subscription, *changes)
    for uri in {before["uri"], subscription.uri}:
        pacing.follow(uri, subscription.shop_id)
    told = {name: change for name, change in changes.items() if name != "key_digest"}
    _record("webhooks/update", subscription, actor=actor, at=at, changes=told)
    return told


@transaction.atomic
def delete_subscription(subscription: Subscription, *, actor: str, at: datetime) -> None:
    """End a subscription: nothing more goes out to it, deliveries that wait included.

    Raises:
        Gone: It was deleted meanwhile.
    """
    _hold(subscription)
    _changed(subscription)
    subscription.deleted_at = at
    subscription.save(update_fields=["deleted_at"])
    pacing.follow(subscription.uri, subscription.shop_id)
    _record("webhooks/delete", subscription, actor=actor, at=at)


def pause(subscription: Subscription, *, reason: str = "", actor: str, at: datetime) -> bool:
    """Hold a subscription's deliveries back until it is resumed; returns whether it was live."""
    return _move(subscription, Subscription.State.PAUSED, reason, actor=actor, at=at)


def resume(subscription: Subscription, *, actor: str, at: datetime) -> bool:
    """Let a paused or disabled subscription's events go out again; returns whether it was not live.

    What was held meanwhile is sent by ``recovery.recover``.
    """
    return _move(subscription, Subscription.State.LIVE, "", actor=actor, at=at)


def disable(subscription: Subscription, *, reason: str, actor: str = "system", at: datetime) -> bool:
    """Stop sending to a subscription whose endpoint fails or is gone; its events are held."""
    return _move(subscription, Subscription.State.DISABLED, reason, actor=actor, at=at)


@transaction.atomic
def _move(subscription: Subscription, state: Subscription.State, reason: str, *, actor: str, at: datetime) -> bool:
    _reread(subscription)
    if subscription.state == state:
        return False
    changes = {"state": [subscription.state, state.value]}
    subscription.state, subscription.reason, subscription.state_changed_at = state.value, reason[:500], at
    subscription.save(update_fields=["state", "reason", "state_changed_at"])
    _record("webhooks/update", subscription, actor=actor, at=at, changes=changes)
    return True


def remove_with_app(installation: Installation, at: datetime) -> None:
    """End the subscriptions that an app made for the shop that it leaves; it still hears that it was uninstalled."""
    listeners_changed(installation.shop)
    ended = subscriptions_of(installation.shop, installation.app_id)
    ended.update(deleted_at=at, removed_by_uninstalling=True)


def follow_grant(installation: Installation) -> None:
    """Have the shop's listeners worked out anew where an app with subscriptions comes, or its scopes change."""
    with every_shop():
        listens = kept().filter(Q(shop=installation.shop) | Q(shop=None))
        if listens.filter(app_id=installation.app_id).exists():
            listeners_changed(installation.shop)


def require_scope(installation: Installation, topic: str) -> None:
    """Make sure that an app may hear of a topic.

    Raises:
        ScopeNeeded: It lacks the scope.
    """
    if scope := topics.scope_missing(topic, installation.granted):
        raise ScopeNeeded(scope)


def _hold(subscription: Subscription) -> None:
    """Hold the shops that it listens to, then the subscription, and read it again.

    Raises:
        Gone: It was deleted meanwhile.
    """
    if subscription.shop_id is not None:
        lock_shop()
    else:
        listeners_of_app_changed(subscription.app)
    _reread(subscription)


def _reread(subscription: Subscription) -> None:
    with every_shop():
        reread(subscription, no_key=True)
    if subscription.deleted_at is not None:
        raise Gone


def _changed(subscription: Subscription) -> None:
    """Move the number of the shop; those of a configured one's shops moved when it was held."""
    if subscription.shop is not None:
        listeners_changed(subscription.shop)


def _save(subscription: Subscription, *names: str) -> None:
    """Save; a breach of a constraint is a refusal like any other."""
    try:
        with transaction.atomic():
            subscription.save(update_fields=names or None)
    except IntegrityError as error:
        breach = breach_of(error)
        if breach is None:
            raise
        raise SubscriptionRefused({breach.field: [breach.message]}) from error


def _record(topic: str, subscription: Subscription, *, actor: str, at: datetime, changes: Given | None = None) -> None:
    """Note it in the shop's audit trail; one that holds for all shops is in none."""
    if subscription.shop_id is not None:
        record_event(topic, subscription, actor=actor, at=at, changes=changes)


def _installation(subscription: Subscription) -> Installation:
    found: Installation = Installation.objects.get(shop=subscription.shop, app=subscription.app, uninstalled_at=None)
    return found
