"""Create, update, pause and delete webhook subscriptions for REST, GraphQL, configuration files and the panel.

Callers pass values by column name, and ``SubscriptionRefused`` reports errors by column name. Every change to a
subscription must increment the version in ``apps.core.tenancy.subscriber_version`` in the same transaction.
"""

from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Q

from apps.core.db.constraint_errors import find_violated_constraint
from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import compute_changes, record_event
from apps.core.events.values import Changes
from apps.core.exceptions import RowDeleted
from apps.core.i18n.error_messages import NOT_IN_LIST
from apps.core.i18n.messages import define_message
from apps.core.models import TimestampedQuerySet
from apps.core.tenancy.models import App, Installation, Shop
from apps.core.tenancy.scope import all_shops_scope
from apps.core.tenancy.shops import lock_shop
from apps.core.tenancy.subscriber_version import bump_subscriber_version, bump_subscriber_versions_of_app
from apps.core.types import ReadOnlyAttrs
from apps.shops.domain.app_installation import ensure_shop_app, lock_active
from apps.webhooks.domain import replay, topics
from apps.webhooks.domain.engine import rate_limits
from apps.webhooks.domain.engine.dispatcher.notify import notify_after_commit
from apps.webhooks.domain.errors import SubscriptionRefused
from apps.webhooks.domain.subscription_fields import WRITABLE_FIELDS, assign_validated
from apps.webhooks.models import Health, Subscription
from apps.webhooks.models.subscriptions import decode_warnings

_TAKEN_BY_DISABLED = define_message(
    "webhooks.taken_by_disabled",
    "belongs to subscription {id}, which is disabled; to resume it, update it with this address",
)


def get_undeleted_subscriptions() -> TimestampedQuerySet[Subscription]:
    return Subscription.objects.get_queryset().filter(deleted_at=None)


def get_api_subscriptions(shop: Shop, app: App | int) -> TimestampedQuerySet[Subscription]:
    """Return the subscriptions that an app created for a shop, except subscriptions from a configuration file."""
    return get_undeleted_subscriptions().filter(shop=shop, app=app, origin=Subscription.Origin.API)


def get_configured_subscriptions(app: App | int) -> TimestampedQuerySet[Subscription]:
    """Return the subscriptions from an app's configuration file. Call this function in the all-shops scope."""
    return get_undeleted_subscriptions().filter(app=app, origin=Subscription.Origin.CONFIG)


def get_subscriptions_for_shop(shop: Shop) -> TimestampedQuerySet[Subscription]:
    """Return all subscriptions that receive events of a shop. Call this function in the all-shops scope."""
    installed_apps = Installation.objects.filter(shop=shop, uninstalled_at=None).values("app_id")
    return get_undeleted_subscriptions().filter(Q(shop=shop) | Q(shop=None), app_id__in=installed_apps)


@transaction.atomic
def create_subscription(installation: Installation, values: ReadOnlyAttrs, *, actor: str, at: datetime) -> Subscription:
    """Create an app's subscription to a topic in a shop. Call this function in the shop's scope.

    ``values`` are ``topic``, ``uri``, ``api_version`` and optionally other ``WRITABLE_FIELDS``.

    Raises:
        SubscriptionRefused: Values are invalid; the error lists all problems by field.
        TopicScopeMissing: The app lacks the scope that the topic requires.
        NotInstalled: The app was uninstalled in the meantime.
    """
    shop, app = installation.shop, installation.app
    lock_active(app.pk)
    subscription = Subscription(shop=shop, app=app, origin=Subscription.Origin.API, created_at=at)
    assign_validated(subscription, values)
    topics.require_topic_scope(installation, subscription.topic)
    bump_subscriber_version(shop)
    _save(subscription)
    rate_limits.update_endpoint_limits(subscription.uri, subscription.shop_id)
    record_event("webhooks/create", subscription, actor=actor, at=at)
    return subscription


@transaction.atomic
def create_staff_subscription(shop: Shop, values: ReadOnlyAttrs, *, actor: str, at: datetime) -> Subscription:
    """Create a subscription of the shop's own app for staff, like ``create_subscription``.

    Raises:
        SubscriptionRefused: Values are invalid; the error lists all problems by field.
    """
    if not topics.is_for_staff(str(values["topic"])):
        raise SubscriptionRefused({"topic": [NOT_IN_LIST]})
    return create_subscription(ensure_shop_app(shop, at=at), values, actor=actor, at=at)


@transaction.atomic
def create_configured_subscription(app: App, values: ReadOnlyAttrs, *, at: datetime) -> Subscription:
    """Create a subscription for all shops like ``create_subscription``. Compliance topics are allowed."""
    subscription = Subscription(shop=None, app=app, origin=Subscription.Origin.CONFIG, created_at=at)
    assign_validated(subscription, values)
    bump_subscriber_versions_of_app(app)
    with all_shops_scope():
        _save(subscription)
    rate_limits.update_endpoint_limits(subscription.uri, None)
    return subscription


@transaction.atomic
def update_subscription(subscription: Subscription, values: ReadOnlyAttrs, *, actor: str, at: datetime) -> Changes:
    """Lock, reload and update a subscription, and return the changes. The topic cannot change.

    Values with a URI resume a disabled subscription and replay its held deliveries, even if the URI is the same. A
    paused subscription stays paused, because staff paused it. The errors are the same as in ``create_subscription``.
    """
    _lock(subscription)
    changes = _update_values(subscription, values, actor=actor, at=at)
    if "uri" in values and subscription.shop and subscription.state == Subscription.State.DISABLED:
        installation = Installation.objects.get(shop=subscription.shop, app=subscription.app, uninstalled_at=None)
        topics.require_topic_scope(installation, subscription.topic)
        resume_subscription(subscription, actor=actor, at=at)
        replay.replay_held_deliveries(subscription, actor=actor, at=at)
    return changes


def _update_values(subscription: Subscription, values: ReadOnlyAttrs, *, actor: str, at: datetime) -> Changes:
    before = {name: getattr(subscription, name) for name in (*WRITABLE_FIELDS, "warnings", "key_digest")}
    assign_validated(subscription, values)
    after = {name: getattr(subscription, name) for name in before}
    for name, value in before.items():
        setattr(subscription, name, value)
    changes = compute_changes(subscription, after)
    if not changes:
        return {}
    if subscription.shop is not None:
        installation = Installation.objects.get(shop=subscription.shop, app=subscription.app, uninstalled_at=None)
        topics.require_topic_scope(installation, subscription.topic)
    for name in changes:
        setattr(subscription, name, after[name])
    _increment_version(subscription)
    _save(subscription, *changes)
    for uri in {before["uri"], subscription.uri}:
        rate_limits.update_endpoint_limits(uri, subscription.shop_id)
    visible_changes = {name: change for name, change in changes.items() if name != "key_digest"}
    if "warnings" in visible_changes:
        visible_changes["warnings"] = [decode_warnings(change) for change in visible_changes["warnings"]]  # type: ignore[arg-type]
    _record("webhooks/update", subscription, actor=actor, at=at, changes=visible_changes)
    return visible_changes


@transaction.atomic
def delete_subscription(subscription: Subscription, *, actor: str, at: datetime) -> None:
    """Delete a subscription. Waiting deliveries of the subscription are not sent.

    Raises:
        RowDeleted: Another request has deleted the subscription.
    """
    _lock(subscription)
    _increment_version(subscription)
    subscription.deleted_at = at
    subscription.save(update_fields=["deleted_at"])
    rate_limits.update_endpoint_limits(subscription.uri, subscription.shop_id)
    _record("webhooks/delete", subscription, actor=actor, at=at)


def pause_subscription(subscription: Subscription, *, reason: str = "", actor: str, at: datetime) -> bool:
    """Pause a subscription and hold its deliveries. Return True if it was not paused before."""
    return _set_state(subscription, Subscription.State.PAUSED, reason, actor=actor, at=at)


def resume_subscription(subscription: Subscription, *, actor: str, at: datetime) -> bool:
    """Resume a paused or disabled subscription. Return True if the subscription was not live before.

    Failures before this time no longer count. Held deliveries are not sent automatically. ``replay`` sends them.
    """
    Health.objects.filter(subscription=subscription).update(failing_since=None, dead_in_a_row=0, warned=0)
    notify_after_commit()
    return _set_state(subscription, Subscription.State.LIVE, "", actor=actor, at=at)


def disable_subscription(subscription: Subscription, *, reason: str, actor: str = "system", at: datetime) -> bool:
    """Disable a subscription and hold its deliveries. Return True if it was not disabled before."""
    return _set_state(subscription, Subscription.State.DISABLED, reason, actor=actor, at=at)


@transaction.atomic
def _set_state(subscription: Subscription, state: Subscription.State, reason: str, *, actor: str, at: datetime) -> bool:
    _reload(subscription)
    if subscription.state == state:
        return False
    changes = {"state": [subscription.state, state.value]}
    subscription.state, subscription.reason, subscription.state_changed_at = state.value, reason, at
    subscription.save(update_fields=["state", "reason", "state_changed_at"])
    _record("webhooks/update", subscription, actor=actor, at=at, changes=changes)
    return True


def delete_app_subscriptions(installation: Installation, at: datetime) -> None:
    """Delete an uninstalled app's subscriptions in a shop. The subscriptions still receive ``app/uninstalled``."""
    bump_subscriber_version(installation.shop)
    rows = get_api_subscriptions(installation.shop, installation.app_id)
    rows.update(deleted_at=at, removed_by_uninstalling=True)


def refresh_listeners_on_grant(installation: Installation) -> None:
    """Invalidate a shop's cached subscribers after an app with subscriptions is installed or its scopes change."""
    with all_shops_scope():
        rows = get_undeleted_subscriptions().filter(Q(shop=installation.shop) | Q(shop=None))
        if rows.filter(app_id=installation.app_id).exists():
            bump_subscriber_version(installation.shop)


def _lock(subscription: Subscription) -> None:
    """Lock the shops that the subscription covers, then lock and reload the subscription."""
    if subscription.shop_id is not None:
        lock_shop()
    else:
        bump_subscriber_versions_of_app(subscription.app)
    _reload(subscription)


def _reload(subscription: Subscription) -> None:
    with all_shops_scope():
        refresh_for_update(subscription, no_key=True)
    if subscription.deleted_at is not None:
        raise RowDeleted


def _increment_version(subscription: Subscription) -> None:
    """Increment the shop's subscriber version. For configured subscriptions, ``_lock`` has already incremented it."""
    if subscription.shop is not None:
        bump_subscriber_version(subscription.shop)


def _save(subscription: Subscription, *names: str) -> None:
    """Save a subscription; convert violations of a unique constraint to ``SubscriptionRefused``."""
    try:
        with transaction.atomic():
            subscription.save(update_fields=names or None)
    except IntegrityError as error:
        breach = find_violated_constraint(error)
        if breach is None:
            raise
        raise SubscriptionRefused(
            {breach.field: [breach.message, *_explain_taken(subscription, breach.field)]}
        ) from error


def _explain_taken(subscription: Subscription, field: str) -> list[str]:
    """Return how to resume the subscription with the same key, if it is disabled."""
    if field != "uri" or subscription.shop is None:
        return []
    same_key = get_api_subscriptions(subscription.shop, subscription.app_id).filter(
        topic=subscription.topic, key_digest=subscription.key_digest, state=Subscription.State.DISABLED
    )
    return [_TAKEN_BY_DISABLED(id=other.pk) for other in same_key]


def _record(
    topic: str, subscription: Subscription, *, actor: str, at: datetime, changes: ReadOnlyAttrs | None = None
) -> None:
    """Record an event in the audit log of the shop. A subscription for all shops has no audit log."""
    if subscription.shop_id is not None:
        record_event(topic, subscription, actor=actor, at=at, changes=changes)
