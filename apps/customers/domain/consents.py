"""Marketing consents: one per channel, each with its history.

Rule: spec part B, Customer; decisions, Consent.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext as _

from apps.customers.models import ConsentChange, ConsentState, Customer, OptInLevel
from apps.events.domain.recording import record_event
from apps.ground.attrs import Attrs, Errors
from apps.ground.dates import whole_second

Channel = ConsentChange.Channel


@dataclass(frozen=True, slots=True)
class Consent:
    """What a customer agreed to on one channel, when and where."""

    state: str = ConsentState.NOT_SUBSCRIBED
    opt_in_level: str = OptInLevel.SINGLE
    updated_at: datetime | None = None
    collected_from: str = "OTHER"


@dataclass(frozen=True, slots=True)
class _Kind:
    """Where a channel's consent is kept, and what it needs."""

    field: str
    columns: dict[str, str]
    contact: str
    topic: str


KINDS = {
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
FIELDS = {kind.field: channel for channel, kind in KINDS.items()}


def consent_of(customer: Customer, channel: Channel) -> Consent:
    """A customer's present consent on a channel."""
    columns = KINDS[channel].columns
    return Consent(**{name: getattr(customer, column) for name, column in columns.items()})


def merged(present: Consent, given: Attrs, at: datetime) -> Consent:
    """The consent after a change that names some of its parts; the same object where nothing changes.

    A moment is compared in whole seconds, as the interface shows it, so that an object that is sent back as it was read
    changes nothing.
    """
    wanted = replace(present, **{name: value for name, value in given.items() if name != "updated_at"})
    moment = given.get("updated_at")
    same_moment = moment is None or (
        present.updated_at is not None and whole_second(moment) == whole_second(present.updated_at)
    )
    if wanted == present and same_moment:
        return present
    return replace(wanted, updated_at=at if moment is None or (same_moment and wanted != present) else moment)


def check(
    channel: Channel, given: Attrs, present: Consent, *, has_contact: bool, creating: bool, at: datetime
) -> Errors:
    """What forbids a consent: no contact to write to, or a moment that has not come yet."""
    if not creating and merged(present, given, at) is present:
        return {}
    field = KINDS[channel].field
    moment = given.get("updated_at")
    if moment is not None and moment > at:
        return {f"{field}.consent_updated_at": [_("must not be in the future")]}
    if not has_contact:
        return {field: [_("needs an email") if channel is Channel.EMAIL else _("needs a phone")]}
    return {}


def put(customer: Customer, channel: Channel, consent: Consent) -> list[str]:
    """Set the columns of a consent on an unsaved customer; returns their names."""
    columns = KINDS[channel].columns
    for name, column in columns.items():
        setattr(customer, column, getattr(consent, name))
    return list(columns.values())


def note(customer: Customer, channel: Channel, *, actor: str, at: datetime, silent: bool = False) -> None:
    """Write the present consent into the history, and tell of it unless ``silent``."""
    _change(customer, channel, actor, at).save(force_insert=True)
    if not silent:
        record_event(KINDS[channel].topic, customer, actor=actor, at=at)


def note_silently(given: Sequence[tuple[Customer, Channel]], *, actor: str, at: datetime) -> None:
    """Write the present consents of new customers into the history; of those nobody is told beside the customers."""
    rows = [_change(customer, channel, actor, at) for customer, channel in given]
    if len(rows) == 1:
        rows[0].save(force_insert=True)
    elif rows:
        ConsentChange.objects.bulk_create(rows)


def _change(customer: Customer, channel: Channel, actor: str, at: datetime) -> ConsentChange:
    consent = consent_of(customer, channel)
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
