"""Recording events: one function, called by every service in the transaction of its change."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

from django.db import connection
from django.db.models import Model
from django.db.transaction import TransactionManagementError
from django.utils import translation

from apps.events.domain.context import Cause, current_cause
from apps.events.domain.topics import topic as topic_named
from apps.events.models import Event
from apps.ground import languages
from apps.ground.batches import Batch, together
from apps.ground.tenancy import current_shop
from apps.shops.models import Shop

# Who listens: asked for (shop, topic), answers the API versions in which payloads are wanted.
Audience = Callable[[Shop, str], frozenset[str]]
# Told of the events that its audience wanted, with what they happened to, in the transaction of the change.
Told = Callable[[Sequence[tuple[Event, Model]]], None]
_audiences: dict[Audience, Told | None] = {}
# By API version, the resource as REST showed it.
Payload = dict[str, Mapping[str, object]]


class Happening(NamedTuple):
    """One of several things that happened; the members are the arguments of ``record_event``."""

    topic: str
    instance: Model
    changes: Mapping[str, object] | None = None
    message: str = ""


def add_audience(audience: Audience, told: Told | None = None) -> None:
    """Let a listener say in which API versions it wants the payloads of a shop's topic, and tell it of those events."""
    _audiences[audience] = told


def remove_audience(audience: Audience) -> None:
    """Take a listener back."""
    del _audiences[audience]


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
    _refuse_outside_transaction()
    known = topic_named(topic)
    shop = current_shop()
    versions, listeners = _listening(shop, topic)
    # What is sent to others and kept is in English, whosever page it was.
    with translation.override(languages.ENGLISH):
        payload = {version: known.render(instance, version) for version in versions} or None
        event = _event(Happening(topic, instance, changes, message), payload, shop, current_cause(), actor=actor, at=at)
    event.save(force_insert=True)
    for told in listeners:
        told([(event, instance)])
    return event


def record_events(
    happenings: Sequence[Happening], *, actor: str, at: datetime, batch: Batch | None = None
) -> list[Event]:
    """Write down several things that happened in one action, in their order; as ``record_event``, in few statements.

    Args:
        happenings: What happened.
        actor: As for ``record_event``.
        at: As for ``record_event``.
        batch: What the events are written with; they have their keys, and listeners are told, once it has been run.

    Raises:
        TransactionManagementError: No transaction is open.
        UnknownTopic: A topic is not registered.
    """
    _refuse_outside_transaction()
    shop = current_shop()
    payloads: list[Payload] = [{} for _ in happenings]
    listening: dict[Told, list[int]] = {}
    for topic in dict.fromkeys(each.topic for each in happenings):
        known = topic_named(topic)
        places = [place for place, each in enumerate(happenings) if each.topic == topic]
        versions, listeners = _listening(shop, topic)
        for told in listeners:
            listening.setdefault(told, []).extend(places)
        for version in versions:
            with translation.override(languages.ENGLISH):
                shown = known.render_many([happenings[place].instance for place in places], version)
            for place, payload in zip(places, shown, strict=True):
                payloads[place][version] = payload
    cause = current_cause()
    with translation.override(languages.ENGLISH):
        events = [
            _event(each, payload or None, shop, cause, actor=actor, at=at)
            for each, payload in zip(happenings, payloads, strict=True)
        ]
    with together(batch) as said:
        said.insert(events)
        for told, places in listening.items():
            said.then(partial(told, [(events[place], happenings[place].instance) for place in sorted(places)]))
    return events


def is_heard(topic: str) -> bool:
    """Whether anybody listens to a topic of the current shop."""
    return bool(_listening(current_shop(), topic)[0])


def record_aspects(happenings: Sequence[Happening], *, actor: str, at: datetime) -> None:
    """Write down what is only an aspect of a change of which other events tell, where somebody listens to it.

    Such as that a product's variant came into stock, which follows from the movement of its level: the audit trail has
    that, so nothing is written for nobody.

    Raises:
        TransactionManagementError: No transaction is open.
        UnknownTopic: A topic is not registered.
    """
    if heard := [each for each in happenings if is_heard(each.topic)]:
        record_events(heard, actor=actor, at=at)


def _refuse_outside_transaction() -> None:
    if not connection.in_atomic_block:
        raise TransactionManagementError("An event belongs into the transaction of the change")


def _listening(shop: Shop, topic: str) -> tuple[list[str], list[Told]]:
    """The API versions in which somebody wants the payloads, and whom to tell of the event."""
    versions = set[str]()
    listeners = list[Told]()
    for audience, told in _audiences.items():
        if wanted := audience(shop, topic):
            versions |= wanted
            if told is not None:
                listeners.append(told)
    return sorted(versions), listeners


def _event(
    happening: Happening, payload: Payload | None, shop: Shop, cause: Cause, *, actor: str, at: datetime
) -> Event:
    instance = happening.instance
    # Not by the manager, which would build the shop's queryset first.
    return Event(
        shop_id=shop.pk,
        topic=happening.topic,
        subject_type=instance._meta.label_lower,
        subject_id=instance.pk,
        subject_label=str(getattr(instance, "event_label", instance))[:255],
        actor=actor,
        message=happening.message,
        changes=dict(happening.changes or {}),
        payload=payload,
        group=cause.group,
        request_id=cause.request_id,
        address=cause.address,
        created_at=at,
    )
