"""Create, update and delete customers. The REST API, the panel and imports call these functions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth import hashers
from django.db import transaction
from django.db.models import ProtectedError, RestrictedError
from django.utils.translation import gettext as _

from apps.core.db.case_folding import build_email_key
from apps.core.db.id_sequences import reserve_ids
from apps.core.events.recording import EventInput, apply_changes, record_event, record_events, record_secondary_events
from apps.core.events.redaction import clear_copies
from apps.core.exceptions import DomainError
from apps.core.jobs.queue import enqueue
from apps.core.models import M
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import ReadOnlyAttrs
from apps.customers.domain import accounts, addresses, consents
from apps.customers.domain.consents import Consent, apply_consent_change, get_consent
from apps.customers.domain.fields import EDITABLE_FIELDS, IDENTIFYING_FIELDS, MARKS
from apps.customers.domain.lookup import get_merged_ids, lock_customer
from apps.customers.domain.search_columns import (
    build_own_text,
    build_search_text,
    get_address_texts,
    rebuild_search_columns,
)
from apps.customers.domain.validation import CustomerRefused, clean_customer
from apps.customers.models import Address, ConsentChange, Customer
from apps.metafields.domain import write as metafields

Channel = ConsentChange.Channel
TAGS_ADDED, TAGS_REMOVED = "customer.tags_added", "customer.tags_removed"


class CustomerHasOrders(DomainError):
    def __init__(self) -> None:
        super().__init__(_("Error deleting customer"))


@transaction.atomic(savepoint=False)
def create_customer(attrs: ReadOnlyAttrs, *, actor: str, at: datetime) -> Customer:
    """Create a customer in the current shop. For ``attrs``, see ``clean_customer``. Imports also set ``created_at``.

    If a password is given, the account is active immediately. Workers send invitations and welcome emails.

    Raises:
        CustomerRefused: Some values are invalid.
        IntegrityError: Another customer has the same email or phone. The constraint name shows which of the two.
    """
    return create_from_drafts([draft_customer(attrs, at=at)], actor=actor, at=at)[0]


@dataclass(frozen=True, slots=True)
class CustomerDraft:
    """A validated new customer that is not saved yet, with all values and the channels with a consent to record."""

    customer: Customer
    cleaned: ReadOnlyAttrs
    consent_channels: Sequence[Channel]


def draft_customer(attrs: ReadOnlyAttrs, *, at: datetime) -> CustomerDraft:
    shop = get_current_shop()
    cleaned, errors = clean_customer(attrs, customer=None, shop=shop, at=at)
    if errors:
        raise CustomerRefused(errors)
    customer = Customer(
        shop=shop,
        created_at=cleaned.get("created_at", at),
        **{name: cleaned[name] for name in EDITABLE_FIELDS if name in cleaned},
    )
    customer.email_key = build_email_key(customer.email)
    noted = _set_consents(customer, cleaned, at)
    rebuild_search_columns(customer, cleaned["addresses"])
    return CustomerDraft(customer, cleaned, noted)


@transaction.atomic(savepoint=False)
def create_from_drafts(drafts: Sequence[CustomerDraft], *, actor: str, at: datetime) -> list[Customer]:
    """Save either all new customers or none. The number of SQL statements does not grow with the number of customers.

    Two drafts must not have the same email or phone. See ``create_customer`` for the ``IntegrityError``.
    """
    new_customers = [draft.customer for draft in drafts]
    for draft in drafts:
        if draft.cleaned.get("password"):
            draft.customer.password = hashers.make_password(draft.cleaned["password"])
            draft.customer.state = Customer.State.ENABLED
    new_addresses = _build_addresses(drafts, at)
    _insert(Customer, new_customers)
    _insert(Address, new_addresses)
    consents.record_initial_consents(
        [(draft.customer, channel) for draft in drafts for channel in draft.consent_channels], actor=actor, at=at
    )
    with_metafields = [(draft.customer, draft.cleaned["metafields"]) for draft in drafts if draft.cleaned["metafields"]]
    if with_metafields:
        metafields.set_metafields_of_owners(with_metafields, actor=actor, at=at)
    if len(new_customers) == 1:
        record_event("customers/create", new_customers[0], actor=actor, at=at)
    else:
        record_events([EventInput("customers/create", customer) for customer in new_customers], actor=actor, at=at)
    record_tag_changes([(customer, "") for customer in new_customers], actor=actor, at=at)
    for draft in drafts:
        _enqueue_emails(draft, actor=actor, at=at)
    return new_customers


def _enqueue_emails(draft: CustomerDraft, *, actor: str, at: datetime) -> None:
    customer, cleaned = draft.customer, draft.cleaned
    if cleaned.get("send_email_welcome") and customer.email:
        enqueue("customers.send_welcome", actor=actor, customer_id=customer.pk)
    if cleaned.get("send_email_invite") and customer.state != Customer.State.ENABLED:
        accounts.send_invite(customer, {}, actor=actor, at=at)


def _find_changed_consents(customer: Customer, cleaned: ReadOnlyAttrs, at: datetime) -> list[str]:
    return [
        field
        for field, channel in consents.FIELDS.items()
        if field in cleaned
        and apply_consent_change(current := get_consent(customer, channel), cleaned[field], at) is not current
    ]


def _set_consents(customer: Customer, cleaned: ReadOnlyAttrs, at: datetime) -> list[Channel]:
    channels = [consents.FIELDS[field] for field in _find_changed_consents(customer, cleaned, at)]
    for channel in channels:
        values = cleaned[consents.CHANNEL_DEFINITIONS[channel].field]
        consents.set_consent(customer, channel, apply_consent_change(get_consent(customer, channel), values, at))
    return channels


def _build_addresses(drafts: Sequence[CustomerDraft], at: datetime) -> list[Address]:
    """Build the addresses of new customers. A customer's first address becomes the default address.

    The addresses already have ids, so that the customers can be inserted with their default addresses.
    """
    rows: list[Address] = []
    for draft in drafts:
        customer = draft.customer
        own = [addresses.build_address(customer, item, at) for item in draft.cleaned["addresses"]]
        customer.written_related = {"addresses": own}
        rows += own
    for row, pk in zip(rows, reserve_ids(Address, len(rows)) if rows else (), strict=True):
        row.pk = pk
        if row.customer.default_address_id is None:
            row.customer.default_address = row
    return rows


def _insert(model: type[M], rows: Sequence[M]) -> None:
    if len(rows) == 1:
        rows[0].save(force_insert=True)
    else:
        model._default_manager.bulk_create(rows)


@transaction.atomic
def update_customer(customer: Customer, attrs: ReadOnlyAttrs, *, actor: str, at: datetime) -> Customer:
    """Lock and update a customer. A changed email or phone resets the consent for that channel.

    For ``attrs``, see ``clean_customer``. Values that only apply to new customers are ignored. For errors, see
    ``create_customer``.
    """
    customer = lock_customer(customer)
    cleaned, errors = clean_customer(attrs, customer=customer, shop=get_current_shop(), at=at)
    if errors:
        raise CustomerRefused(errors)
    before = {name: getattr(customer, name) for name in EDITABLE_FIELDS}
    consents_before = {channel: get_consent(customer, channel) for channel in Channel}
    changes = apply_changes(
        customer,
        {name: cleaned[name] for name in EDITABLE_FIELDS if name in cleaned},
        personal=Customer.personal_fields,
    )
    changed = list(changes)
    columns = [*changed, *_update_derived_columns(customer, changed)]
    if customer.verified_email != before["verified_email"]:
        changes["verified_email"] = [before["verified_email"], customer.verified_email]
    # Compare before the reset, because an unchanged consent in the body was given for the old email or phone.
    changed_consents = {field: cleaned[field] for field in _find_changed_consents(customer, cleaned, at)}
    changed_channels = _reset_consents(customer, before, changed)
    changed_channels = list(dict.fromkeys([*changed_channels, *_set_consents(customer, changed_consents, at)]))
    for channel in changed_channels:
        columns += consents.CHANNEL_DEFINITIONS[channel].columns.values()
    if columns:
        customer.save(update_fields=columns)
    for channel in changed_channels:
        consents.record_consent(customer, channel, consents_before[channel], actor=actor, at=at)
    default_id = customer.default_address_id
    addresses_changed = "addresses" in cleaned and addresses.replace_addresses(customer, cleaned["addresses"], at)
    if customer.default_address_id != default_id:
        changes["default_address_id"] = [default_id, customer.default_address_id]
    if metafields.set_metafields(customer, cleaned["metafields"], actor=actor, at=at) or columns or addresses_changed:
        record_event("customers/update", customer, actor=actor, at=at, changes=changes)
    record_tag_changes([(customer, before["tags"])], actor=actor, at=at)
    return customer


def record_tag_changes(changed: Sequence[tuple[Customer, str]], *, actor: str, at: datetime) -> None:
    """Record events for added and removed tags of ``(customer, previous tags)``. Changes of case are not recorded."""
    for topic in (TAGS_ADDED, TAGS_REMOVED):
        events = []
        for customer, old_tags in changed:
            old, new = ({tag.casefold(): tag for tag in text.split(", ") if tag} for text in (old_tags, customer.tags))
            names = new.keys() - old.keys() if topic == TAGS_ADDED else old.keys() - new.keys()
            if names:
                customer.event_tags = sorted((old | new)[name] for name in names)
                customer.tags_changed_at = at
                events.append(EventInput(topic, customer))
        if events:
            record_secondary_events(events, actor=actor, at=at)


def _update_derived_columns(customer: Customer, changed: list[str]) -> list[str]:
    columns = []
    if "email" in changed:
        key = build_email_key(customer.email)
        if key != customer.email_key:
            columns += accounts.revoke_activation_link(customer)
        customer.email_key = key
        columns.append("email_key")
        if "verified_email" not in changed and customer.verified_email:
            customer.verified_email = False
            columns.append("verified_email")
    if not set(IDENTIFYING_FIELDS).isdisjoint(changed):
        companies = [address["company"] for address in get_address_texts(customer) if address["company"]]
        customer.search_text = build_search_text(customer, companies)
        columns.append("search_text")
    if not MARKS.keys().isdisjoint(changed):
        customer.search_own = build_own_text(customer)
        columns.append("search_own")
    return columns


def _reset_consents(customer: Customer, before: ReadOnlyAttrs, changed: list[str]) -> list[Channel]:
    """Reset the consents for a changed email or phone, unless only the spelling changed. Return the channels."""
    reset_channels = []
    for channel, definition in consents.CHANNEL_DEFINITIONS.items():
        same_email = definition.contact == "email" and build_email_key(before["email"]) == customer.email_key
        if definition.contact in changed and not same_email and get_consent(customer, channel) != Consent():
            consents.set_consent(customer, channel, Consent())
            reset_channels.append(channel)
    return reset_channels


@transaction.atomic
def delete_customer(customer: Customer, *, actor: str, at: datetime) -> None:
    customer = lock_customer(customer)
    if customer.orders_count:
        raise CustomerHasOrders
    record_event("customers/delete", customer, actor=actor, at=at)
    clear_copies(Customer, [customer.pk, *get_merged_ids(customer.pk)])
    try:
        customer.delete()
    except (ProtectedError, RestrictedError):
        raise CustomerHasOrders from None
