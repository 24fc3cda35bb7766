"""Look up existing customers by email and phone.

An email identifies a customer more reliably than a phone, which families and offices share.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.db.models import Q
from django.utils.translation import gettext as _

from apps.customers.domain.contact_normalization import (
    InvalidEmail,
    InvalidPhone,
    build_email_key,
    normalize_email,
    normalize_phone,
)
from apps.customers.models import Customer
from apps.ground.exceptions import DomainError
from apps.ground.tenancy import get_current_shop


class ContactsDisagree(DomainError):
    """Raised when email and phone belong to different customers. Only staff may see the message, which names both."""

    code = "customer_keys_disagree"


@dataclass(frozen=True, slots=True)
class ContactMatch:
    """The customers that match a given email and phone, which can be two different customers.

    Attributes:
        email: True if an email was given.
        by_email: The customer with the email, or None.
        by_phone: The customer with the phone, or None.
    """

    email: bool = False
    by_email: Customer | None = None
    by_phone: Customer | None = None

    def resolve_customer(self) -> Customer | None:
        """Return the customer that email and phone identify, or None if no customer matches.

        Raises:
            ContactsDisagree: Email and phone belong to different customers, or the customer with the phone has a
                different email.
        """
        by_email, by_phone = self.by_email, self.by_phone
        if by_phone is None or by_email == by_phone:
            return by_email
        if by_email is not None:
            text = _("The email address belongs to {by_email}, but the phone number belongs to {by_phone}")
            raise ContactsDisagree(
                text.format(by_email=_format_customer(by_email), by_phone=_format_customer(by_phone))
            )
        if self.email and by_phone.email_key:
            text = _("The phone number belongs to {by_phone}, who has a different email address")
            raise ContactsDisagree(text.format(by_phone=_format_customer(by_phone)))
        return by_phone


def get_contact_keys(*, email: object, phone: object) -> tuple[str, str]:
    """Return the email key and the E.164 phone. A missing value is blank. If either value is invalid, both are blank.

    Invalid values are reported later, when the customer is created.
    """
    try:
        key = build_email_key(normalize_email(email)) if isinstance(email, str) and email else ""
        number = normalize_phone(phone, get_current_shop().country_code) if isinstance(phone, str) and phone else ""
    except (InvalidEmail, InvalidPhone):
        return "", ""
    return key, number


def find_by_contacts(*, email: object, phone: object) -> ContactMatch:
    """Find customers by email and phone in any spelling. The rows are locked until the transaction ends."""
    return find_all_by_contacts([get_contact_keys(email=email, phone=phone)])[0]


def find_all_by_contacts(key_pairs: Sequence[tuple[str, str]], *, locked: bool = True) -> list[ContactMatch]:
    """Find customers for the results of ``get_contact_keys`` with one query. If ``locked`` is true, lock the rows."""
    directory = CustomerDirectory(key_pairs, locked=locked)
    return [directory.find(*pair) for pair in key_pairs]


class CustomerDirectory:
    """An index of customers by email key and phone, filled from the database and by ``add``."""

    def __init__(self, key_pairs: Sequence[tuple[str, str]], *, locked: bool) -> None:
        """Load customers for results of ``get_contact_keys`` with one query. If ``locked`` is true, lock the rows."""
        self._by_key: dict[str, Customer] = {}
        self._by_number: dict[str, Customer] = {}
        email_keys, numbers = ({pair[index] for pair in key_pairs} - {""} for index in (0, 1))
        conditions = []
        if email_keys:
            conditions.append(_match_any("email_key", email_keys))
        if numbers:
            conditions.append(_match_any("phone", numbers))
        if conditions:
            rows = Customer.objects.select_for_update(of=("self",)) if locked else Customer.objects.all()
            for row in rows.filter(reduce(or_, conditions)).order_by("pk"):
                self.add(row)

    def add(self, customer: Customer) -> None:
        """Add a saved or unsaved customer."""
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
    """Return the condition for an email key, in a form that allows both databases to use the partial unique index."""
    return Q(email_key=key) & ~Q(email_key="")


def match_phone(number: str) -> Q:
    """Return the condition for an E.164 phone, in a form that allows both databases to use the partial unique index."""
    return Q(phone=number) & ~Q(phone="")


def _format_customer(customer: Customer) -> str:
    return _("{customer} (customer {number})").format(customer=customer, number=customer.pk)
