"""Create, update and delete customer addresses, fill in country and province, and maintain the default address."""

from collections.abc import Collection, Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import apply_changes, record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK, INVALID, too_long
from apps.core.types import Attrs, Errors, ReadOnlyAttrs
from apps.customers.domain.lookup import lock_customer, touch_customer
from apps.customers.models import Address, Customer
from apps.shops.domain.countries import UnknownCountry, complete_region

TEXT_COLUMNS = ("first_name", "last_name", "company", "address1", "address2", "city", "zip", "phone")
REGION_COLUMNS = ("country", "country_code", "province", "province_code")
COLUMNS = (*TEXT_COLUMNS, *REGION_COLUMNS)
# The maximum length of a first or last name. In a full name, a space separates the first and last name.
MAX_NAME_PART = 255
MAX_FULL_NAME = 2 * MAX_NAME_PART + 1
# The number of addresses in a customer response, most recently updated first.
MAX_LISTED_ADDRESSES = 10


class AddressRefused(DomainError):
    field = "address"


class DefaultAddressNeeded(DomainError):
    pass


class UnknownAddress(DomainError):
    field = "address_ids"


def clean_address(values: ReadOnlyAttrs, current: Address | None = None) -> tuple[Attrs, Errors]:
    """Return the normalized values of an address and the errors.

    ``values`` are columns of ``Address``, and ``name``, which is used if first and last name are missing.
    """
    attrs = {name: values[name] for name in TEXT_COLUMNS if name in values}
    attrs |= {name: values[name] or "" for name in REGION_COLUMNS if name in values}
    name = (values.get("name") or "").strip()
    current_name = current.name if current else None
    if "name" in values and name != current_name and not attrs.keys() & {"first_name", "last_name"}:
        first, last = split_name(name)
        attrs |= {"first_name": first, "last_name": last}
        if max(len(first), len(last)) > MAX_NAME_PART:
            return attrs, {"name": [too_long(MAX_NAME_PART)]}
    if current is None and not any((value or "").strip() for value in attrs.values()):
        return attrs, {"address": [BLANK]}
    try:
        attrs |= _complete_region(attrs, current)
    except UnknownCountry as error:
        return attrs, error.errors
    return attrs, {}


def split_name(name: str) -> tuple[str, str]:
    """Return the first and last name in a full name. A single word is the first name."""
    first, _space, last = name.strip().rpartition(" ")
    return (first.strip(), last) if first else (last, "")


def _complete_region(attrs: Attrs, current: Address | None) -> Attrs:
    """Return the names and codes of country and province, completed from the given values.

    If a name and its code disagree, the changed value is used, because clients often send back a whole object with one
    changed value.
    """
    if not attrs.keys() & set(REGION_COLUMNS):
        return {}
    current_values = {name: getattr(current, name) if current else "" for name in REGION_COLUMNS}
    region_values = dict(current_values)
    for name, code in (("country", "country_code"), ("province", "province_code")):
        changed = {word for word in (name, code) if attrs.get(word, current_values[word]) != current_values[word]}
        if changed:
            region_values |= {word: attrs[word] if word in changed else "" for word in (name, code)}
    differing = {name for name in REGION_COLUMNS if region_values[name] != current_values[name]}
    if differing and differing <= {"country", "country_code"}:
        region_values |= {"province": "", "province_code": ""}
    if not any(region_values.values()):
        return dict.fromkeys(REGION_COLUMNS, "")
    region = complete_region(**region_values)
    return {
        "country": region.country.name,
        "country_code": region.country.code,
        "province": region.province or "",
        "province_code": region.province_code or "",
    }


def build_address(customer: Customer, attrs: Attrs, at: datetime) -> Address:
    return Address(shop_id=customer.shop_id, customer=customer, created_at=at, **attrs)


@transaction.atomic
def create_address(customer: Customer, attrs: ReadOnlyAttrs, *, actor: str, at: datetime) -> Address:
    """Add an address to a customer. The first address becomes the default address."""
    cleaned, errors = clean_address(attrs)
    if errors:
        raise AddressRefused(errors)
    customer = lock_customer(customer)
    address = build_address(customer, cleaned, at)
    address.save()
    if customer.default_address_id is None:
        customer.default_address = address
    touch_customer(customer)
    record_event("customers/update", customer, actor=actor, at=at)
    return address


@transaction.atomic
def update_address(address: Address, attrs: ReadOnlyAttrs, *, actor: str, at: datetime) -> Address:
    customer = lock_customer(address.customer)
    refresh_for_update(address, no_key=True)
    cleaned, errors = clean_address(attrs, address)
    if errors:
        raise AddressRefused(errors)
    if changed := apply_changes(address, cleaned):
        address.save(update_fields=list(changed))
        touch_customer(customer)
        record_event("customers/update", customer, actor=actor, at=at)
    return address


def get_listed_addresses(customer: Customer) -> dict[int, Address]:
    rows = Address.objects.filter(customer=customer).order_by("-updated_at", "-pk")
    return {row.pk: row for row in rows[:MAX_LISTED_ADDRESSES]}


def clean_addresses(items: Sequence[ReadOnlyAttrs], customer: Customer | None) -> tuple[list[Attrs], Errors]:
    """Return the normalized addresses of a request body and the errors.

    The ``id`` of an item refers to an existing address. Ids are ignored for a new customer (None).
    """
    existing = {row.pk: row for row in Address.objects.filter(customer=customer)} if customer else {}
    cleaned: list[Attrs] = []
    errors: Errors = {}
    for index, item in enumerate(items):
        pk = item.get("id") if customer else None
        if pk is not None and pk not in existing:
            errors[f"addresses.{index}.id"] = [INVALID]
            continue
        # Remove the address from ``existing``, so that the body can use each id only once.
        current = existing.pop(pk) if pk is not None else None
        attrs, item_errors = clean_address(item, current)
        cleaned.append(attrs | ({"id": pk} if current else {}))
        errors |= {f"addresses.{index}.{field}": messages for field, messages in item_errors.items()}
    return cleaned, errors


def replace_addresses(customer: Customer, items: Sequence[Attrs], at: datetime) -> bool:
    """Replace the listed addresses of a locked customer with cleaned addresses. Return True if anything changed.

    Addresses with an id are updated, and addresses without an id are created. Listed addresses that are not in the body
    are deleted. Unlisted addresses are not deleted, because the client did not see them. If the default address is
    deleted, the first address in the body becomes the default address.
    """
    unmatched = get_listed_addresses(customer)
    existing = {row.pk: row for row in Address.objects.filter(customer=customer)}
    rows: list[Address] = []
    changed = False
    for item in items:
        attrs = {name: value for name, value in item.items() if name != "id"}
        if row := existing.get(item.get("id", 0)):
            unmatched.pop(row.pk, None)
            if columns := apply_changes(row, attrs):
                row.save(update_fields=list(columns))
                changed = True
        else:
            row = build_address(customer, attrs, at)
            row.save()
            changed = True
        rows.append(row)
    if not changed and not unmatched:
        return False
    if customer.default_address_id is None or customer.default_address_id in unmatched:
        remaining = Address.objects.filter(customer=customer).exclude(pk__in=unmatched).order_by("-updated_at", "-pk")
        customer.default_address = rows[0] if rows else remaining.first()
    touch_customer(customer, excluded_ids=unmatched)
    Address.objects.filter(pk__in=unmatched).delete()
    return True


@transaction.atomic
def set_default_address(address: Address, *, actor: str, at: datetime) -> Address:
    customer = lock_customer(address.customer)
    refresh_for_update(address, no_key=True)
    if customer.default_address_id != address.pk:
        changes = {"default_address_id": [customer.default_address_id, address.pk]}
        customer.default_address = address
        touch_customer(customer)
        record_event("customers/update", customer, actor=actor, at=at, changes=changes)
    return address


@transaction.atomic
def delete_addresses(customer: Customer, ids: Collection[int], *, actor: str, at: datetime) -> None:
    """Delete all given addresses of a customer, or none if one of them cannot be deleted."""
    customer = lock_customer(customer)
    requested_ids = set(ids)
    existing_ids = set(Address.objects.filter(customer=customer).values_list("pk", flat=True))
    if requested_ids - existing_ids:
        raise UnknownAddress(INVALID)
    if customer.default_address_id in requested_ids and existing_ids - requested_ids:
        raise DefaultAddressNeeded(_("Cannot delete the default address while the customer has other addresses"))
    if customer.default_address_id in requested_ids:
        customer.default_address = None
    touch_customer(customer, excluded_ids=requested_ids)
    Address.objects.filter(pk__in=requested_ids).delete()
    record_event("customers/update", customer, actor=actor, at=at)
