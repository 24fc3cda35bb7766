"""Creating, changing and deleting customers; one function per verb, called by REST, the panel and imports."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth import hashers
from django.db import transaction
from django.db.models import ProtectedError, RestrictedError
from django.utils.translation import gettext as _

from apps.customers.domain import accounts, addresses, consents
from apps.customers.domain.aggregate import lock
from apps.customers.domain.consents import Consent, consent_of, merged
from apps.customers.domain.contacts import email_key
from apps.customers.domain.search_text import own_words, places_of, renew, search_text
from apps.customers.domain.validation import CustomerRefused, clean
from apps.customers.models import EDITABLE, PERSONAL, Address, ConsentChange, Customer
from apps.events.domain.changes import assign
from apps.events.domain.recording import Happening, record_aspects, record_event, record_events
from apps.ground import sql
from apps.ground.attrs import Given
from apps.ground.errors import DomainError
from apps.ground.tenancy import current_shop
from apps.jobs.domain.queue import enqueue
from apps.metafields.domain import setting as metafields

Channel = ConsentChange.Channel
TAGS_ADDED, TAGS_REMOVED = "customer.tags_added", "customer.tags_removed"
_SET_DEFAULT = "UPDATE customers_customer SET default_address_id = %s WHERE id = %s AND shop_id = %s"


class HasOrders(DomainError):
    """The customer has orders, which book-keeping needs."""

    code = "customer_has_orders"

    def __init__(self) -> None:
        """Say it in the interface's words."""
        super().__init__(_("Error deleting customer"))


@transaction.atomic(savepoint=False)
def create_customer(attrs: Given, *, actor: str, at: datetime) -> Customer:
    """Make a customer of the current shop.

    An account is active at once where a password is given. Invitations and welcome mails are sent by a worker.

    Args:
        attrs: See ``validation.clean``; further ``created_at`` for customers that come from elsewhere.
        actor: Who makes the customer.
        at: When.

    Raises:
        CustomerRefused: ``{field: [messages]}`` for all values that do not fit.
        IntegrityError: The e-mail or the phone is another customer's; its constraint names the field.
    """
    return create_drafted([draft(attrs, at=at)], actor=actor, at=at)[0]


@dataclass(frozen=True, slots=True)
class Draft:
    """A new customer that is checked and not yet stored.

    Attributes:
        customer: Unsaved.
        cleaned: The values as ``validation.clean`` gives them.
        noted: The channels on which the customer consents to something.
    """

    customer: Customer
    cleaned: Given
    noted: Sequence[Channel]


def draft(attrs: Given, *, at: datetime) -> Draft:
    """A new customer of the current shop out of its values, as ``create_customer`` takes them; nothing is written.

    Raises:
        CustomerRefused: ``{field: [messages]}`` for all values that do not fit.
    """
    shop = current_shop()
    cleaned, errors = clean(attrs, customer=None, shop=shop, at=at)
    if errors:
        raise CustomerRefused(errors)
    customer = Customer(
        shop=shop,
        created_at=cleaned.get("created_at", at),
        **{name: cleaned[name] for name in EDITABLE if name in cleaned},
    )
    customer.email_key = email_key(customer.email)
    noted = _put_consents(customer, cleaned, at)
    renew(customer, cleaned["addresses"])
    return Draft(customer, cleaned, noted)


@transaction.atomic(savepoint=False)
def create_drafted(drafts: Sequence[Draft], *, actor: str, at: datetime) -> list[Customer]:
    """Store new customers, in as few statements as one; all or none.

    Args:
        drafts: Of whom no two have an e-mail or a phone in common.
        actor: Who makes the customers.
        at: When.

    Raises:
        IntegrityError: An e-mail or a phone is another customer's; its constraint names the field.
    """
    made = [each.customer for each in drafts]
    for each in drafts:
        if each.cleaned.get("password"):
            each.customer.password = hashers.make_password(each.cleaned["password"])
            each.customer.state = Customer.State.ENABLED
    if len(made) == 1:
        made[0].save(force_insert=True)
    else:
        Customer.objects.bulk_create(made)
    _add_addresses(drafts, at)
    consents.note_silently([(each.customer, channel) for each in drafts for channel in each.noted], actor=actor, at=at)
    with_metafields = [(each.customer, each.cleaned["metafields"]) for each in drafts if each.cleaned["metafields"]]
    if with_metafields:
        metafields.set_of_each(with_metafields, actor=actor, at=at)
    if len(made) == 1:
        record_event("customers/create", made[0], actor=actor, at=at)
    else:
        record_events([Happening("customers/create", customer) for customer in made], actor=actor, at=at)
    tell_tags([(customer, "") for customer in made], actor=actor, at=at)
    for each in drafts:
        _write_to(each, actor=actor, at=at)
    return made


def _write_to(made: Draft, *, actor: str, at: datetime) -> None:
    """Ask for the mails that a new customer is to get."""
    customer, cleaned = made.customer, made.cleaned
    if cleaned.get("send_email_welcome") and customer.email:
        enqueue("customers.send_welcome", actor=actor, customer_id=customer.pk)
    if cleaned.get("send_email_invite") and customer.state != Customer.State.ENABLED:
        accounts.send_invite(customer, {}, actor=actor, at=at)


def _changing_consents(customer: Customer, cleaned: Given, at: datetime) -> list[str]:
    """The given consents that differ from the present ones."""
    return [
        field
        for field, channel in consents.FIELDS.items()
        if field in cleaned and merged(present := consent_of(customer, channel), cleaned[field], at) is not present
    ]


def _put_consents(customer: Customer, cleaned: Given, at: datetime) -> list[Channel]:
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


def _add_addresses(drafts: Sequence[Draft], at: datetime) -> None:
    """Store new customers' addresses; the first one of each is the default."""
    rows: list[Address] = []
    for each in drafts:
        customer = each.customer
        own: list[Address] = [addresses.build(customer, item, at) for item in each.cleaned["addresses"]]
        customer.written = {"addresses": own}
        rows += own
    if len(rows) == 1:
        rows[0].save(force_insert=True)
    elif rows:
        Address.objects.bulk_create(rows)
    # The rows are of this very transaction: nobody has seen the versions that they were inserted with.
    first = []
    for row in rows:
        customer = row.customer
        if customer.default_address_id is None:
            customer.default_address = row
            first.append((row.pk, customer.pk, customer.shop_id))
    if len(first) == 1:
        sql.execute(f"{_SET_DEFAULT} RETURNING id", first[0])
    else:
        sql.execute_each(_SET_DEFAULT, first)


@transaction.atomic
def update_customer(customer: Customer, attrs: Given, *, actor: str, at: datetime) -> Customer:
    """Change what is given of a customer; a changed e-mail or phone resets the consent that was given for it.

    Args:
        customer: Who; read again under a lock.
        attrs: See ``validation.clean``; what only a create takes is ignored.
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
    before = {name: getattr(customer, name) for name in EDITABLE}
    changes = assign(customer, {name: cleaned[name] for name in EDITABLE if name in cleaned}, personal=PERSONAL)
    changed = list(changes)
    columns = [*changed, *_renew_contacts(customer, changed)]
    # What is sent back as it was read was agreed to for the old e-mail or phone, so it is compared before the reset.
    asked = {field: cleaned[field] for field in _changing_consents(customer, cleaned, at)}
    noted = _reset_consents(customer, before, changed)
    noted = list(dict.fromkeys([*noted, *_put_consents(customer, asked, at)]))
    for channel in noted:
        columns += consents.KINDS[channel].columns.values()
    if columns:
        customer.save(update_fields=columns)
    for channel in noted:
        consents.note(customer, channel, actor=actor, at=at)
    moved = "addresses" in cleaned and addresses.replace_addresses(customer, cleaned["addresses"], at)
    if moved:
        changes["addresses"] = [None, [row.pk for row in addresses.shown_addresses(customer).values()]]
    if metafields.set_many(customer, cleaned["metafields"], actor=actor, at=at) or columns or moved:
        record_event("customers/update", customer, actor=actor, at=at, changes=changes)
    tell_tags([(customer, before["tags"])], actor=actor, at=at)
    return customer


def tell_tags(changed: Sequence[tuple[Customer, str]], *, actor: str, at: datetime) -> None:
    """Tell who listens which tags came and which went; of a tag that is only written otherwise nobody is told.

    Args:
        changed: Customers with the tags that they had before.
        actor: Who changed them.
        at: When.
    """
    for topic in (TAGS_ADDED, TAGS_REMOVED):
        told = []
        for customer, before in changed:
            had, has = ({tag.casefold(): tag for tag in text.split(", ") if tag} for text in (before, customer.tags))
            names = has.keys() - had.keys() if topic == TAGS_ADDED else had.keys() - has.keys()
            if names:
                customer.told_tags = sorted((had | has)[name] for name in names)
                customer.told_at = at
                told.append(Happening(topic, customer))
        if told:
            record_aspects(told, actor=actor, at=at)


def _renew_contacts(customer: Customer, changed: list[str]) -> list[str]:
    """Renew what is derived of what changed; returns the columns."""
    columns = []
    if "email" in changed:
        key = email_key(customer.email)
        if key != customer.email_key:
            columns += accounts.withdraw_link(customer)
        customer.email_key = key
        columns.append("email_key")
        if "verified_email" not in changed and customer.verified_email:
            customer.verified_email = False
            columns.append("verified_email")
    if {"first_name", "last_name", "email", "phone"} & set(changed):
        companies = [place["company"] for place in places_of(customer) if place["company"]]
        customer.search_text = search_text(customer, companies)
        columns.append("search_text")
    if {"first_name", "last_name", "email", "tags", "note"} & set(changed):
        customer.search_own = own_words(customer)
        columns.append("search_own")
    return columns


def _reset_consents(customer: Customer, before: Given, changed: list[str]) -> list[Channel]:
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
