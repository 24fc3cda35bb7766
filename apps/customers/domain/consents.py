"""Read, change and record marketing consents. Each channel has its own consent with a history."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from apps.core.events.recording import build_changes, record_event
from apps.core.i18n.messages import define_text
from apps.core.timestamps import truncate_to_second
from apps.core.types import Attrs, Errors
from apps.customers.models import ConsentChange, ConsentState, Customer, OptInLevel

_IN_FUTURE = define_text("consents.in_future", "must not be in the future")
_NEEDS_EMAIL = define_text("consents.needs_email", "needs an email")
_NEEDS_PHONE = define_text("consents.needs_phone", "needs a phone")

Channel = ConsentChange.Channel


@dataclass(frozen=True, slots=True)
class Consent:
    state: str = ConsentState.NOT_SUBSCRIBED
    opt_in_level: str = OptInLevel.SINGLE
    updated_at: datetime | None = None
    collected_from: str = "OTHER"


@dataclass(frozen=True, slots=True)
class _Kind:
    """The consent field of a channel with its customer columns, the required contact, and the event topic."""

    field: str
    columns: dict[str, str]
    contact: str
    topic: str


CHANNEL_DEFINITIONS = {
    Channel.EMAIL: _Kind(
        field="email_marketing_consent",
        columns={
            "state": "email_marketing_state",
            "opt_in_level": "email_marketing_opt_in_level",
            "updated_at": "email_marketing_updated_at",
        },
        contact="email",
        topic="customers_email_marketing_consent/update",
    ),
    Channel.SMS: _Kind(
        field="sms_marketing_consent",
        columns={
            "state": "sms_marketing_state",
            "opt_in_level": "sms_marketing_opt_in_level",
            "updated_at": "sms_marketing_updated_at",
            "collected_from": "sms_marketing_collected_from",
        },
        contact="phone",
        topic="customers_marketing_consent/update",
    ),
}
FIELDS = {kind.field: channel for channel, kind in CHANNEL_DEFINITIONS.items()}


def get_consent(customer: Customer, channel: Channel) -> Consent:
    columns = CHANNEL_DEFINITIONS[channel].columns
    return Consent(**{name: getattr(customer, column) for name, column in columns.items()})


def apply_consent_change(current: Consent, values: Attrs, at: datetime) -> Consent:
    """Return the consent after a partial change, or ``current`` itself if nothing changes.

    Times are compared in whole seconds, as the API renders them, so sending back an unchanged object changes nothing.
    """
    updated = replace(current, **{name: value for name, value in values.items() if name != "updated_at"})
    changed_at = values.get("updated_at")
    same_time = changed_at is None or (
        current.updated_at is not None and truncate_to_second(changed_at) == truncate_to_second(current.updated_at)
    )
    if updated == current and same_time:
        return current
    if changed_at is None and updated.state == current.state == ConsentState.NOT_SUBSCRIBED:
        # The customer has not decided anything, so there is no time of a decision.
        return updated
    return replace(updated, updated_at=at if changed_at is None or (same_time and updated != current) else changed_at)


def check_consent(
    channel: Channel, values: Attrs, current: Consent, *, has_contact: bool, creating: bool, at: datetime
) -> Errors:
    """Return errors if the customer has no contact on the channel or the consent time is in the future."""
    if not creating and apply_consent_change(current, values, at) is current:
        return {}
    field = CHANNEL_DEFINITIONS[channel].field
    changed_at = values.get("updated_at")
    if changed_at is not None and changed_at > at:
        return {f"{field}.consent_updated_at": [_IN_FUTURE]}
    if not has_contact:
        return {field: [_NEEDS_EMAIL if channel is Channel.EMAIL else _NEEDS_PHONE]}
    return {}


def set_consent(customer: Customer, channel: Channel, consent: Consent) -> list[str]:
    """Set the consent columns of a customer without saving. Return the column names."""
    columns = CHANNEL_DEFINITIONS[channel].columns
    for name, column in columns.items():
        setattr(customer, column, getattr(consent, name))
    return list(columns.values())


def record_consent(customer: Customer, channel: Channel, before: Consent | None, *, actor: str, at: datetime) -> None:
    """Add the current consent to the history and record the event, unless ``before`` is None."""
    _change(customer, channel, actor, at).save(force_insert=True)
    if before is None:
        return
    kind, consent = CHANNEL_DEFINITIONS[channel], get_consent(customer, channel)
    changed = {column: (getattr(before, name), getattr(consent, name)) for name, column in kind.columns.items()}
    changes = build_changes(
        {column: pair for column, pair in changed.items() if pair[0] != pair[1]}, personal=Customer.personal_fields
    )
    # The other changes of the customer belong to the event about the customer.
    record_event(kind.topic, customer, actor=actor, at=at, changes=changes, takes_row_changes=False)


def record_initial_consents(consents: Sequence[tuple[Customer, Channel]], *, actor: str, at: datetime) -> None:
    """Add the consents of new customers to the history, without events. The create event includes them."""
    rows = [_change(customer, channel, actor, at) for customer, channel in consents]
    if len(rows) == 1:
        rows[0].save(force_insert=True)
    elif rows:
        ConsentChange.objects.bulk_create(rows)


def _change(customer: Customer, channel: Channel, actor: str, at: datetime) -> ConsentChange:
    consent = get_consent(customer, channel)
    return ConsentChange(
        shop_id=customer.shop_id,
        customer=customer,
        channel=channel,
        state=consent.state,
        opt_in_level=consent.opt_in_level,
        collected_from=consent.collected_from if channel is Channel.SMS else "",
        consent_updated_at=consent.updated_at,
        actor=actor,
        created_at=at,
    )
