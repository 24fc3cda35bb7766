"""Recording events: one function, called by every service in the transaction of its change."""

from collections.abc import Callable, Mapping
from datetime import datetime

from django.db import connection
from django.db.models import Model
from django.db.transaction import TransactionManagementError

from apps.events.domain.context import current_cause
from apps.events.domain.topics import topic as topic_named
from apps.events.models import Event
from apps.ground.tenancy import current_shop
from apps.shops.models import Shop

# Who listens: asked for (shop, topic), answers the API versions in which payloads are wanted.
Audience = Callable[[Shop, str], frozenset[str]]
_audiences: list[Audience] = []


def add_audience(audience: Audience) -> None:
    """Let a listener say in which API versions it wants the payloads of a shop's topic."""
    _audiences.append(audience)


def remove_audience(audience: Audience) -> None:
    """Take a listener back."""
    _audiences.remove(audience)


def record_event(
    topic: str,
    instance: Model,
    *,
    actor: str,
    at: datetime,
    changes: Mapping[str, object] | None = None,
    message: str = "",
) -> Event:
    """Write down that something happened, in the transaction of the change itself.

    The payload is a snapshot taken now, rendered only in the API versions that somebody listens with. Since event rows
    are never changed, an instance that is a person has an ``event_label`` by which the row names it without its data.

    Args:
        topic: A registered topic, e.g. ``script_tags/create``.
        instance: What it happened to, as it is after the change (before it, for a deletion).
        actor: Who did it: ``staff:17``, ``app:4``, ``system``.
        at: When, timezone-aware.
        changes: ``{field: [before, after]}`` for the audit trail; never a secret.
        message: A sentence for the timeline where the topic's label does not say enough.

    Raises:
        TransactionManagementError: No transaction is open, so the event could outlive a failed change.
        UnknownTopic: The topic is not registered.
    """
    if not connection.in_atomic_block:
        raise TransactionManagementError("record_event belongs into the transaction of the change")
    known = topic_named(topic)
    shop = current_shop()
    versions = frozenset[str]().union(*(audience(shop, topic) for audience in _audiences))
    cause = current_cause()
    # Not by the manager, which would build the shop's queryset first.
    event = Event(
        shop=shop,
        topic=topic,
        subject_type=instance._meta.label_lower,
        subject_id=instance.pk,
        subject_label=str(getattr(instance, "event_label", instance))[:255],
        actor=actor,
        message=message,
        changes=dict(changes or {}),
        payload={version: known.render(instance, version) for version in sorted(versions)} or None,
        group=cause.group,
        request_id=cause.request_id,
        address=cause.address,
        created_at=at,
    )
    event.save(force_insert=True)
    return event
