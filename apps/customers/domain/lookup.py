"""Look up customers and their tags, and lock them as aggregate roots.

An email identifies a customer more reliably than a phone, which families and offices share.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.db.models import Count, Q
from django.utils.translation import gettext as _

from apps.core.db.case_folding import build_email_key
from apps.core.db.row_locks import get_for_update
from apps.core.events.models import Event
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import Message, define_message
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import ReadOnlyAttrs
from apps.customers.domain.contact_normalization import (
    InvalidContact,
    normalize_email,
    normalize_phone,
)
from apps.customers.domain.search_columns import get_address_texts, rebuild_search_columns
from apps.customers.models import SEARCH_COLUMNS, Customer
from apps.shops.domain.countries import get_country_code

MERGE_TOPIC = "customers/merge"
PURCHASING_SUMMARY = "customers/purchasing_summary"


class BeingErased(DomainError):
    """Raised when a customer's personal data is being erased, because the erasure could miss the change."""

    field = "customer"


def lock_customer(customer: Customer) -> Customer:
    """Return the current customer, locked until the transaction ends. Refuse customers that are being erased."""
    current = get_for_update(Customer, customer.pk)
    raise_if_being_erased(current)
    return current


def raise_if_being_erased(customer: Customer) -> None:
    """Refuse to change a locked customer during an erasure, which would miss data that is added now."""
    if customer.erasing_at is not None:
        raise BeingErased(_("is being erased. Try again when the personal data has been erased"))


def list_tags(*, limit: int | None = None, popular: bool = False) -> list[str]:
    """Return the distinct tags of the shop's customers, ignoring case, by name or, if ``popular``, by frequency."""
    names: dict[str, str] = {}
    counts: Counter[str] = Counter()
    combinations = Customer.objects.exclude(tags="").values("tags").annotate(used=Count("pk")).order_by("tags")
    for text, used in combinations.values_list("tags", "used").iterator():
        for name in text.split(", "):
            key = name.casefold()
            names[key] = max(name, names.get(key, name))
            counts[key] += used
    keys = sorted(names, key=lambda key: (-counts[key] if popular else 0, key))
    return [names[key] for key in keys[:limit]]


def get_merged_ids(customer_id: int) -> list[int]:
    """Return the ids of all customers that were merged into a customer, directly or through an earlier merge."""
    merged_ids: list[int] = []
    current_ids = [customer_id]
    while current_ids:
        merge_changes = Event.objects.filter(
            topic=MERGE_TOPIC, subject_type=Customer._meta.label_lower, subject_id__in=current_ids
        ).values_list("changes", flat=True)
        current_ids = [changes["merged_customer_id"][0] for changes in merge_changes if "merged_customer_id" in changes]
        current_ids = [pk for pk in current_ids if pk not in merged_ids]
        merged_ids += current_ids
    return merged_ids


def touch_customer(customer: Customer, *, excluded_ids: Collection[int] = ()) -> None:
    """Update the version and search columns after an address change, and save the default address.

    ``excluded_ids`` are addresses that are about to be deleted.
    """
    rebuild_search_columns(customer, get_address_texts(customer, excluded_ids))
    customer.save(update_fields=["default_address", *SEARCH_COLUMNS])


_TWO_OWNERS = define_message(
    "customers.two_owners", "The email address belongs to {by_email}, but the phone number belongs to {by_phone}"
)
_PHONE_TAKEN = define_message(
    "customers.phone_taken", "The phone number belongs to {by_phone}, who has a different email address"
)
_NAMED = define_message("customers.named", "{customer} (customer {number})")


class ContactsDisagree(DomainError):
    """Raised when email and phone belong to different customers. Only staff may see the message, which names both."""


@dataclass(frozen=True, slots=True)
class ContactMatch:
    """The customers with a given email and phone, possibly two. ``email`` is True if an email was given."""

    email: bool = False
    by_email: Customer | None = None
    by_phone: Customer | None = None

    def resolve_customer(self) -> Customer | None:
        """Return the customer that email and phone identify, if any. Raise ``ContactsDisagree`` if they contradict."""
        by_email, by_phone = self.by_email, self.by_phone
        if by_phone is None or by_email == by_phone:
            return by_email
        if by_email is not None:
            raise ContactsDisagree(_TWO_OWNERS(by_email=_name_customer(by_email), by_phone=_name_customer(by_phone)))
        if self.email and by_phone.email_key:
            raise ContactsDisagree(_PHONE_TAKEN(by_phone=_name_customer(by_phone)))
        return by_phone


def get_contact_keys(*, email: object, phone: object, address: ReadOnlyAttrs | None = None) -> tuple[str, str]:
    """Return the email key and the E.164 phone. A missing value is blank. If either value is invalid, both are blank.

    ``address`` is the customer's address, which determines the country of a national phone number. Invalid values are
    reported later, when the customer is created.
    """
    countries = (get_country_code(address), get_current_shop().country_code)
    try:
        key = build_email_key(normalize_email(email)) if isinstance(email, str) and email else ""
        number = normalize_phone(phone, *countries) if isinstance(phone, str) and phone else ""
    except InvalidContact:
        return "", ""
    return key, number


def find_all_by_contacts(key_pairs: Sequence[tuple[str, str]], *, locked: bool = True) -> list[ContactMatch]:
    """Find customers for the results of ``get_contact_keys`` with one query. If ``locked`` is true, lock the rows."""
    directory = CustomerDirectory(key_pairs, locked=locked)
    return [directory.find(*pair) for pair in key_pairs]


class CustomerDirectory:
    """An index of customers by email key and phone, filled with one query and by ``add``."""

    def __init__(self, key_pairs: Sequence[tuple[str, str]], *, locked: bool) -> None:
        self._by_key: dict[str, Customer] = {}
        self._by_number: dict[str, Customer] = {}
        keys = {column: {pair[i] for pair in key_pairs} - {""} for i, column in enumerate(("email_key", "phone"))}
        if conditions := [_match_any(column, values) for column, values in keys.items() if values]:
            rows = Customer.objects.select_for_update(of=("self",)) if locked else Customer.objects.all()
            for row in rows.filter(reduce(or_, conditions)).order_by("pk"):
                self.add(row)

    def add(self, customer: Customer) -> None:
        if customer.email_key:
            self._by_key[customer.email_key] = customer
        if customer.phone:
            self._by_number[customer.phone] = customer

    def find(self, key: str, number: str) -> ContactMatch:
        return ContactMatch(bool(key), self._by_key.get(key), self._by_number.get(number))


def _match_any(column: str, values: Collection[str]) -> Q:
    if len(values) == 1:
        return match_email(*values) if column == "email_key" else match_phone(*values)
    return Q(**{f"{column}__in": values}) & ~Q(**{column: ""})


def match_email(key: str) -> Q:
    """Return a condition that allows both databases to use the partial unique index."""
    return Q(email_key=key) & ~Q(email_key="")


def match_phone(number: str) -> Q:
    """Return a condition that allows both databases to use the partial unique index."""
    return Q(phone=number) & ~Q(phone="")


def _name_customer(customer: Customer) -> Message:
    return _NAMED(customer=str(customer), number=customer.pk)
