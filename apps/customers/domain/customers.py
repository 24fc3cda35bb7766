"""Creating, changing and deleting customers; one function per verb, called by REST, the panel and imports."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth import hashers
from django.db import transaction
from django.db.models import ProtectedError, RestrictedError

from apps.customers import mails
from apps.customers.domain import accounts, addresses, consents
from apps.customers.domain.consents import Consent, consent_of, merged
from apps.customers.domain.contacts import email_key
from apps.customers.domain.search import search_text
from apps.customers.domain.touching import companies_of, lock
from apps.customers.domain.validation import CustomerRefused, clean
from apps.customers.models import Address, ConsentChange, Customer
from apps.events.domain.changes import changes_of
from apps.events.domain.recording import record_event
from apps.ground import sql
from apps.ground.errors import DomainError
from apps.ground.tenancy import current_shop
from apps.metafields.domain import setting as metafields

Channel = ConsentChange.Channel
COLUMNS = (
    "first_name",
    "last_name",
    "email",
    "phone",
    "verified_email",
    "note",
    "tags",
    "tax_exempt",
    "tax_exemptions",
    "multipass_identifier",
)
# Of these the audit trail, whose rows are never changed, tells that they changed and not what they were.
PERSONAL = frozenset({"first_name", "last_name", "email", "phone", "note", "tags", "multipass_identifier"})
_SET_DEFAULT = "UPDATE customers_customer SET default_address_id = %s WHERE id = %s AND shop_id = %s RETURNING id"


class HasOrders(DomainError):
    """The customer has orders, which book-keeping needs."""

    code = "customer_has_orders"

    def __init__(self) -> None:
        """Say it in the interface's words."""
        super().__init__("Error deleting customer")


@transaction.atomic(savepoint=False)
def create_customer(attrs: Mapping[str, Any], *, actor: str, at: datetime) -> Customer:
    """Make a customer of the current shop.

    An account is active at once where a password is given. Invitations and welcome mails are sent by a worker.

    Args:
        attrs: See ``rules.clean``; further ``created_at`` for customers that come from elsewhere.
        actor: Who makes the customer.
        at: When.

    Raises:
        CustomerRefused: ``{field: [messages]}`` for all values that do not fit.
        IntegrityError: The e-mail or the phone is another customer's; its constraint names the field.
    """
    shop = current_shop()
    cleaned, errors = clean(attrs, customer=None, shop=shop, at=at)
    if errors:
        raise CustomerRefused(errors)
    customer = Customer(
        shop=shop,
        created_at=cleaned.get("created_at", at),
        **{name: cleaned[name] for name in COLUMNS if name in cleaned},
    )
    customer.email_key = email_key(customer.email)
    noted = _put_consents(customer, cleaned, at)
    if cleaned.get("password"):
        customer.password = hashers.make_password(cleaned["password"])
        customer.state = Customer.State.ENABLED
    given = cleaned["addresses"]
    customer.search_text = search_text(customer, [item["company"] for item in given if item.get("company")])
    customer.save(force_insert=True)
    _add_addresses(customer, given, at)
    for channel in noted:
        consents.note(customer, channel, actor=actor, at=at, silent=True)
    metafields.set_many(customer, cleaned["metafields"], actor=actor, at=at)
    record_event("customers/create", customer, actor=actor, at=at)
    if cleaned.get("send_email_welcome") and customer.email:
        mails.welcome(customer, actor=actor)
    if cleaned.get("send_email_invite") and customer.state != Customer.State.ENABLED:
        accounts.send_invite(customer, {}, actor=actor, at=at)
    return customer


def _changing_consents(customer: Customer, cleaned: Mapping[str, Any], at: datetime) -> list[str]:
    """The given consents that differ from the present ones."""
    return [
        field
        for field, channel in consents.FIELDS.items()
        if field in cleaned and merged(present := consent_of(customer, channel), cleaned[field], at) is not present
    ]


def _put_consents(customer: Customer, cleaned: Mapping[str, Any], at: datetime) -> list[Channel]:
    """Set the given consents; returns the channels whose consent changed."""
    noted = []
    for field, channel in consents.FIELDS.items():
        if field not in cleaned:
            continue
        present = consent_of(customer, channel)
        wanted = merged(present, cleaned[field], at)
        if wanted is not present:
            consents.put(customer, channel, wanted)
            noted.append(channel)
    return noted


def _add_addresses(customer: Customer, given: list[dict[str, Any]], at: datetime) -> None:
    """Store a new customer's addresses; the first one is the default."""
    rows: list[Address] = [addresses.build(customer, item, at) for item in given]
    customer.written = {"addresses": rows}
    if not rows:
        return
    if len(rows) == 1:
        rows[0].save(force_insert=True)
    else:
        Address.objects.bulk_create(rows)
    customer.default_address = rows[0]
    # The row is of this very transaction: nobody has seen the version that it was inserted with.
    sql.execute(_SET_DEFAULT, [rows[0].pk, customer.pk, customer.shop_id])


@transaction.atomic
def update_customer(customer: Customer, attrs: Mapping[str, Any], *, actor: str, at: datetime) -> Customer:
    """Change what is given of a customer; a changed e-mail or phone resets the consent that was given for it.

    Args:
        customer: Who; read again under a lock.
        attrs: See ``rules.clean``; what only a create takes is ignored.
        actor: Who changes the customer.
        at: When.

    Raises:
        CustomerRefused: ``{field: [messages]}`` for all values that do not fit.
        IntegrityError: The e-mail or the phone is another customer's; its constraint names the field.
    """
    customer = lock(customer)
    cleaned, errors = clean(attrs, customer=customer, shop=current_shop(), at=at)
    if errors:
        raise CustomerRefused(errors)
    before = {name: getattr(customer, name) for name in COLUMNS}
    changes = changes_of(customer, {name: cleaned[name] for name in COLUMNS if name in cleaned}, personal=PERSONAL)
    changed = list(changes)
    for name in changed:
        setattr(customer, name, cleaned[name])
    columns = [*changed, *_renew_contacts(customer, changed)]
    # What is sent back as it was read was agreed to for the old e-mail or phone, so it is compared before the reset.
    asked = {field: cleaned[field] for field in _changing_consents(customer, cleaned, at)}
    noted = _reset_consents(customer, before, changed)
    noted = list(dict.fromkeys([*noted, *_put_consents(customer, asked, at)]))
    for channel in noted:
        columns += consents.KINDS[channel].columns.values()
    customer.save(update_fields=columns)
    for channel in noted:
        consents.note(customer, channel, actor=actor, at=at)
    metafields.set_many(customer, cleaned["metafields"], actor=actor, at=at)
    record_event("customers/update", customer, actor=actor, at=at, changes=changes)
    return customer


def _renew_contacts(customer: Customer, changed: list[str]) -> list[str]:
    """Renew what is derived of names, e-mail and phone; returns the columns."""
    columns = []
    if "email" in changed:
        customer.email_key = email_key(customer.email)
        columns.append("email_key")
        if "verified_email" not in changed and customer.verified_email:
            customer.verified_email = False
            columns.append("verified_email")
    if {"first_name", "last_name", "email", "phone"} & set(changed):
        customer.search_text = search_text(customer, companies_of(customer))
        columns.append("search_text")
    return columns


def _reset_consents(customer: Customer, before: Mapping[str, Any], changed: list[str]) -> list[Channel]:
    """Take back the consents whose e-mail or phone changed; returns the channels where there was one.

    Another spelling of the same e-mail is no change.
    """
    reset = []
    for channel, kind in consents.KINDS.items():
        same_email = kind.contact == "email" and email_key(before["email"]) == customer.email_key
        if kind.contact in changed and not same_email and consent_of(customer, channel) != Consent():
            consents.put(customer, channel, Consent())
            reset.append(channel)
    return reset


@transaction.atomic
def delete_customer(customer: Customer, *, actor: str, at: datetime) -> None:
    """Delete a customer with the addresses and the history of consents.

    Raises:
        HasOrders: There are orders.
    """
    customer = lock(customer)
    if customer.orders_count:
        raise HasOrders
    record_event("customers/delete", customer, actor=actor, at=at)
    try:
        customer.delete()
    except (ProtectedError, RestrictedError):
        raise HasOrders from None
