"""The addresses of a customer: completed, ordered by use, one of them the default.

Rule: decisions, Addresses.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from apps.customers.domain.aggregate import lock, touch
from apps.customers.models import Address, Customer
from apps.events.domain.changes import assign
from apps.events.domain.recording import record_event
from apps.ground.attrs import Attrs, Errors, Given
from apps.ground.errors import DomainError
from apps.ground.locks import reread
from apps.ground.phrases import BLANK, INVALID, too_long
from apps.shops.domain.countries import UnknownCountry, complete

TEXTS = ("first_name", "last_name", "company", "address1", "address2", "city", "zip", "phone")
PLACE = ("country", "country_code", "province", "province_code")
COLUMNS = (*TEXTS, *PLACE)
# Of the first and of the last name, and so of both with a space between them.
LONGEST_PART = 255
LONGEST_NAME = 2 * LONGEST_PART + 1
# How many a customer lists: the most recently updated ones.
MAX_SHOWN = 10


class AddressRefused(DomainError):
    """The values do not make an address."""

    code = "address_refused"
    field = "address"


class DefaultAddressNeeded(DomainError):
    """The default address goes last."""

    code = "default_address_needed"

    def __init__(self) -> None:
        """Say what would help."""
        super().__init__(_("Cannot delete the customer's default address while there are others"))


class UnknownAddress(DomainError):
    """The customer has no such address."""

    code = "unknown_address"
    field = "address_ids"


def clean_address(given: Given, present: Address | None = None) -> tuple[Attrs, Errors]:
    """The values of an address as they are stored, and what is wrong with them.

    Args:
        given: Columns of ``Address``, and ``name``, which counts where neither part of the name is given.
        present: The address that is changed; None for a new one.
    """
    attrs = {name: given[name] for name in TEXTS if name in given}
    attrs |= {name: given[name] or "" for name in PLACE if name in given}
    name = (given.get("name") or "").strip()
    known = present.name if present else None
    if "name" in given and name != known and not attrs.keys() & {"first_name", "last_name"}:
        first, _space, last = name.rpartition(" ")
        attrs |= {"first_name": first, "last_name": last} if first else {"first_name": last, "last_name": ""}
        if max(len(first), len(last)) > LONGEST_PART:
            return attrs, {"name": [too_long(LONGEST_PART)]}
    if present is None and not any((value or "").strip() for value in attrs.values()):
        return attrs, {"address": [BLANK]}
    try:
        attrs |= _place(attrs, present)
    except UnknownCountry as error:
        return attrs, error.errors
    return attrs, {}


def _place(attrs: Attrs, present: Address | None) -> Attrs:
    """Country and province by name and code, completed from what is given.

    Of a code and its name the one that changes counts: clients send back whole objects, of which they changed one.
    """
    if not attrs.keys() & set(PLACE):
        return {}
    before = {name: getattr(present, name) if present else "" for name in PLACE}
    words = dict(before)
    for name, code in (("country", "country_code"), ("province", "province_code")):
        changed = {word for word in (name, code) if attrs.get(word, before[word]) != before[word]}
        if changed:
            words |= {word: attrs[word] if word in changed else "" for word in (name, code)}
    if (words["country"], words["country_code"]) != (before["country"], before["country_code"]) and (
        words["province"],
        words["province_code"],
    ) == (before["province"], before["province_code"]):
        words |= {"province": "", "province_code": ""}
    if not any(words.values()):
        return dict.fromkeys(PLACE, "")
    region = complete(**words)
    return {
        "country": region.country.name,
        "country_code": region.country.code,
        "province": region.province or "",
        "province_code": region.province_code or "",
    }


def build(customer: Customer, attrs: Attrs, at: datetime) -> Address:
    """An unsaved address out of clean values."""
    return Address(shop_id=customer.shop_id, customer=customer, created_at=at, **attrs)


@transaction.atomic
def create_address(customer: Customer, attrs: Given, *, actor: str, at: datetime) -> Address:
    """Give a customer one more address; the first one is the default.

    Raises:
        AddressRefused: The country is unknown, or nothing is given.
    """
    cleaned, errors = clean_address(attrs)
    if errors:
        raise AddressRefused(errors)
    customer = lock(customer)
    address = build(customer, cleaned, at)
    address.save()
    if customer.default_address_id is None:
        customer.default_address = address
    touch(customer)
    record_event("customers/update", customer, actor=actor, at=at, changes={"addresses": [None, address.pk]})
    return address


@transaction.atomic
def update_address(address: Address, attrs: Given, *, actor: str, at: datetime) -> Address:
    """Change what is given of an address.

    Raises:
        AddressRefused: The country is unknown.
        Gone: It was deleted meanwhile.
    """
    customer = lock(address.customer)
    reread(address, no_key=True)
    cleaned, errors = clean_address(attrs, address)
    if errors:
        raise AddressRefused(errors)
    if changed := assign(address, cleaned):
        address.save(update_fields=list(changed))
        touch(customer)
        record_event("customers/update", customer, actor=actor, at=at, changes={"addresses": [address.pk, address.pk]})
    return address


def shown_addresses(customer: Customer) -> dict[int, Address]:
    """The addresses that a customer lists, by id."""
    rows = Address.objects.filter(customer=customer).order_by("-updated_at", "-pk")
    return {row.pk: row for row in rows[:MAX_SHOWN]}


def clean_addresses(given: Sequence[Given], customer: Customer | None) -> tuple[list[Attrs], Errors]:
    """The addresses of a body as they are stored, and what is wrong with them.

    Args:
        given: As for ``clean_address``; an ``id`` names one that the customer has.
        customer: Who has them; None for a new customer, where ids say nothing.
    """
    own = {row.pk: row for row in Address.objects.filter(customer=customer)} if customer else {}
    cleaned: list[Attrs] = []
    errors: Errors = {}
    for index, item in enumerate(given):
        pk = item.get("id") if customer else None
        if pk is not None and pk not in own:
            errors[f"addresses.{index}.id"] = [INVALID]
            continue
        # Taken out, so that it can be named only once.
        present = own.pop(pk) if pk is not None else None
        attrs, wrong = clean_address(item, present)
        cleaned.append(attrs | ({"id": pk} if present else {}))
        errors |= {f"addresses.{index}.{field}": messages for field, messages in wrong.items()}
    return cleaned, errors


def replace_addresses(customer: Customer, wanted: Sequence[Attrs], at: datetime) -> bool:
    """Make the addresses that a customer lists those of a body: named ones change, unnamed ones go, others are made.

    Whoever has more than a customer lists keeps the others: nobody could have named them. If the default goes, the
    first of the body takes its place.

    Args:
        customer: Locked.
        wanted: Of ``clean_addresses``.
        at: When.

    Returns:
        Whether anything changed.
    """
    listed = shown_addresses(customer)
    own = {row.pk: row for row in Address.objects.filter(customer=customer)}
    rows: list[Address] = []
    changed = False
    for item in wanted:
        attrs = {name: value for name, value in item.items() if name != "id"}
        if row := own.get(item.get("id", 0)):
            listed.pop(row.pk, None)
            if columns := assign(row, attrs):
                row.save(update_fields=list(columns))
                changed = True
        else:
            row = build(customer, attrs, at)
            row.save()
            changed = True
        rows.append(row)
    if not changed and not listed:
        return False
    if customer.default_address_id is None or customer.default_address_id in listed:
        left = Address.objects.filter(customer=customer).exclude(pk__in=listed).order_by("-updated_at", "-pk")
        customer.default_address = rows[0] if rows else left.first()
    touch(customer, without=listed)
    Address.objects.filter(pk__in=listed).delete()
    return True


@transaction.atomic
def set_default(address: Address, *, actor: str, at: datetime) -> Address:
    """Make an address its customer's default.

    Raises:
        Gone: It was deleted meanwhile.
    """
    customer = lock(address.customer)
    reread(address, no_key=True)
    if customer.default_address_id != address.pk:
        changes = {"default_address_id": [customer.default_address_id, address.pk]}
        customer.default_address = address
        touch(customer)
        record_event("customers/update", customer, actor=actor, at=at, changes=changes)
    return address


@transaction.atomic
def delete_addresses(customer: Customer, ids: Collection[int], *, actor: str, at: datetime) -> None:
    """Delete addresses of a customer, all or none.

    Raises:
        DefaultAddressNeeded: The default is among them, and others stay.
        UnknownAddress: One is not this customer's.
    """
    customer = lock(customer)
    wanted = set(ids)
    own = set(Address.objects.filter(customer=customer).values_list("pk", flat=True))
    if wanted - own:
        raise UnknownAddress(INVALID)
    if customer.default_address_id in wanted and own - wanted:
        raise DefaultAddressNeeded
    if customer.default_address_id in wanted:
        customer.default_address = None
    touch(customer, without=wanted)
    Address.objects.filter(pk__in=wanted).delete()
    record_event("customers/update", customer, actor=actor, at=at, changes={"addresses": [sorted(wanted), None]})
