"""Record events with their changes. Services call these functions in the same transaction as their changes.

Changes are stored for the audit log as ``{field: [before, after]}`` in JSON values, with long strings shortened. The
changes of a row's parts, such as the variants of a product, are added here (``apps.core.events.changed_rows``), and so
are the changes of the row itself if the service does not pass any.
"""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from typing import NamedTuple

from django.db import connection
from django.db.models import Model
from django.db.transaction import TransactionManagementError
from django.utils import translation

from apps.core.db.row_changes import RowChange, discard_row_changes, get_key, is_stored_before, take_row_changes
from apps.core.db.statement_batches import StatementBatch, collect_statements
from apps.core.events.changed_rows import add_row_changes
from apps.core.events.context import EventContext, get_event_context, start_functions
from apps.core.events.models import Event
from apps.core.events.topics import topics
from apps.core.events.values import Changes, hide_change, to_plain_pair
from apps.core.i18n import formats
from apps.core.i18n.messages import Message
from apps.core.registry import Registry
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.core.timestamps import truncate_to_second

# A context begins before its transaction, so it only discards changes of tests, which share one transaction.
start_functions.append(discard_row_changes)


def compute_changes(row: Model, values: Mapping[str, object], *, personal: Container[str] = ()) -> Changes:
    """Return the changes that new values would make to a row. Changes of ``personal`` fields contain no values.

    Times are compared in whole seconds, because the API renders whole seconds.
    """
    changed = {
        name: (before, after)
        for name, after in values.items()
        if _whole_seconds(before := getattr(row, name)) != _whole_seconds(after)
    }
    return build_changes(changed, personal=personal)


def apply_changes(row: Model, values: Mapping[str, object], *, personal: Container[str] = ()) -> Changes:
    """Set new values on a row without saving it, and return the changes.

    If there are no changes, a service must not save the row or record an event. Otherwise an app that writes back
    values after every webhook would cause an endless series of webhooks.
    """
    changes = compute_changes(row, values, personal=personal)
    for name in changes:
        setattr(row, name, values[name])
    return changes


def build_changes(changed: Mapping[str, tuple[object, object]], *, personal: Container[str] = ()) -> Changes:
    return {
        name: hide_change(before, after) if name in personal else to_plain_pair(before, after)
        for name, (before, after) in changed.items()
    }


def _whole_seconds(value: object) -> object:
    return truncate_to_second(value) if isinstance(value, datetime) else value


# A function of (shop, topic) that returns the API versions in which payloads are needed.
AudienceFunction = Callable[[Shop, str], frozenset[str]]
# A function that is called in the transaction of the change, with the events for the audience and their instances.
EventCallback = Callable[[Sequence[tuple[Event, Model]]], None]
audiences = Registry[AudienceFunction, EventCallback | None]("event audiences")
_has_no_audience: ContextVar[bool] = ContextVar("has no audience", default=False)
# The rendered resource, keyed by API version.
Payload = dict[str, Mapping[str, object]]


class EventInput(NamedTuple):
    """An event to record together with other events; the fields are the arguments of ``record_event``."""

    topic: str
    instance: Model
    changes: Mapping[str, object] | None = None
    message: Message | None = None


def record_event(
    topic: str,
    instance: Model,
    *,
    actor: str,
    at: datetime,
    changes: Mapping[str, object] | None = None,
    message: Message | None = None,
    takes_row_changes: bool = True,
) -> Event:
    """Record an event in the same transaction as the change.

    The payload is a snapshot, rendered only in the API versions that an audience needs. Event rows are never changed.
    Therefore models with personal data have an ``event_label`` that identifies an instance without personal data.

    Args:
        topic: A registered topic, e.g. ``script_tags/create``.
        instance: The row after the change. For a deletion, the row before the deletion.
        actor: ``staff:17``, ``app:4`` or ``system``.
        at: The time of the change.
        changes: ``{field: [before, after]}`` for the audit log, without secrets.
        message: A message for the timeline, if the topic's label is not specific enough.
        takes_row_changes: False if the collected changes of rows remain for a later event of the same instance.

    Raises:
        TransactionManagementError: No transaction is open, so the event could outlive a failed change.
        NotRegistered: The topic is not registered.
    """
    inputs = [EventInput(topic, instance, changes, message)]
    return record_events(inputs, actor=actor, at=at, takes_row_changes=takes_row_changes)[0]


def record_events(
    inputs: Sequence[EventInput],
    *,
    actor: str,
    at: datetime,
    batch: StatementBatch | None = None,
    takes_row_changes: bool = True,
) -> list[Event]:
    """Record several events in order, with few statements. The errors are the same as in ``record_event``.

    ``batch`` collects statements, so that the events are written together with other rows. Event ids are set and
    callbacks are called only when the batch runs.
    """
    _require_transaction()
    shop = get_current_shop()
    payloads: list[Payload] = [{} for _ in inputs]
    indexes_by_callback: dict[EventCallback, list[int]] = {}
    for topic in dict.fromkeys(event_input.topic for event_input in inputs):
        registered_topic = topics[topic]
        indexes = [index for index, event_input in enumerate(inputs) if event_input.topic == topic]
        versions, callbacks = _ask_audiences(shop, topic)
        for callback in callbacks:
            indexes_by_callback.setdefault(callback, []).extend(indexes)
        for version in versions:
            with translation.override(formats.ENGLISH):
                rendered = registered_topic.render_many([inputs[index].instance for index in indexes], version)
            for index, payload in zip(indexes, rendered, strict=True):
                payloads[index][version] = payload
    context = get_event_context()
    keys = {get_key(event_input.instance) for event_input in inputs} if takes_row_changes else ()
    collected = take_row_changes(keys) if keys else {}
    with translation.override(formats.ENGLISH):
        events = [
            _build_event(
                event_input,
                payload or None,
                shop,
                context,
                collected.pop(get_key(event_input.instance), ()) if collected else (),
                actor=actor,
                at=at,
            )
            for event_input, payload in zip(inputs, payloads, strict=True)
        ]
    with collect_statements(batch) as statements:
        statements.insert(events)
        for callback, indexes in indexes_by_callback.items():
            statements.add_callback(
                partial(callback, [(events[index], inputs[index].instance) for index in sorted(indexes)])
            )
    return events


@contextmanager
def record_for_audit_log_only() -> Iterator[None]:
    """Record the events in this block for the audit log only: no app receives a webhook about them."""
    token = _has_no_audience.set(True)
    try:
        yield
    finally:
        _has_no_audience.reset(token)


def is_for_audit_log_only() -> bool:
    """Return True within ``record_for_audit_log_only``."""
    return _has_no_audience.get()


def has_audience(topic: str) -> bool:
    return bool(get_audience_versions(get_current_shop(), topic))


def get_audience_versions(shop: Shop, topic: str) -> frozenset[str]:
    """Return the API versions in which the payloads of a topic are needed."""
    return frozenset(_ask_audiences(shop, topic)[0])


def record_secondary_events(inputs: Sequence[EventInput], *, actor: str, at: datetime) -> None:
    """Record secondary events of a change, but only events with an audience.

    For example, a changed inventory level can put a variant back in stock. The audit log already has the main event, so
    secondary events without an audience are not recorded. They leave the changes of rows to the main event, so that its
    entry is the same whether or not an app has subscribed.
    """
    if needed := [event_input for event_input in inputs if has_audience(event_input.topic)]:
        record_events(needed, actor=actor, at=at, takes_row_changes=False)


def _require_transaction() -> None:
    if not connection.in_atomic_block:
        raise TransactionManagementError("An event must be recorded in the same transaction as the change")


def _ask_audiences(shop: Shop, topic: str) -> tuple[list[str], list[EventCallback]]:
    """Return the API versions in which payloads are needed, and the callbacks."""
    versions = set[str]()
    callbacks = list[EventCallback]()
    if _has_no_audience.get():
        return [], []
    for audience, callback in audiences.items():
        if audience_versions := audience(shop, topic):
            versions |= audience_versions
            if callback is not None:
                callbacks.append(callback)
    return sorted(versions), callbacks


def _build_event(
    event_input: EventInput,
    payload: Payload | None,
    shop: Shop,
    context: EventContext,
    collected: Sequence[RowChange],
    *,
    actor: str,
    at: datetime,
) -> Event:
    instance = event_input.instance
    is_new = event_input.topic.endswith("/create") or not is_stored_before(instance)
    label = getattr(instance, "event_label", instance)
    # Create the instance directly, because the manager would first build a queryset for the shop.
    return Event(
        shop_id=shop.pk,
        topic=event_input.topic,
        subject_type=instance._meta.label_lower,
        subject_id=instance.pk,
        subject_label=str(label)[:255],
        coded_label=label if isinstance(label, Message) else "",
        actor=actor,
        message=event_input.message or "",
        # The entry of a new row does not list the parts that were created together with it.
        changes=dict(event_input.changes or {})
        if is_new
        else add_row_changes(event_input.changes, instance, collected),
        payload=payload,
        group=context.group,
        request_id=context.request_id,
        address=context.address,
        created_at=at,
    )
