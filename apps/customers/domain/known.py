"""Who is known already: the one place where customers are looked up by their e-mail and phone.

An e-mail is the stronger key: nobody shares one. A phone is the weaker: families and offices do.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.db.models import Q
from django.utils.translation import gettext as _

from apps.customers.domain.contacts import NotAnEmail, NotAPhone, canonical_email, canonical_phone, email_key
from apps.customers.models import Customer
from apps.ground.errors import DomainError
from apps.ground.tenancy import current_shop


class KeysDisagree(DomainError):
    """The e-mail and the phone are those of different people; the message names them, so it is for staff alone."""

    code = "customer_keys_disagree"


@dataclass(frozen=True, slots=True)
class Known:
    """Whom an e-mail and a phone name, each None where they name nobody.

    Attributes:
        email: Whether an e-mail was given at all.
        by_email: Who has the e-mail.
        by_phone: Who has the phone.
    """

    email: bool = False
    by_email: Customer | None = None
    by_phone: Customer | None = None

    def one(self) -> Customer | None:
        """The one whom both mean; None where they mean nobody.

        Raises:
            KeysDisagree: They mean different customers, or the phone means somebody with another e-mail.
        """
        by_email, by_phone = self.by_email, self.by_phone
        if by_phone is None or by_email == by_phone:
            return by_email
        if by_email is not None:
            words = _("The e-mail is that of {by_email}, the phone that of {by_phone}")
            raise KeysDisagree(words.format(by_email=_named(by_email), by_phone=_named(by_phone)))
        if self.email and by_phone.email_key:
            words = _("The phone is that of {by_phone}, whose e-mail is another")
            raise KeysDisagree(words.format(by_phone=_named(by_phone)))
        return by_phone


def keys_of(*, email: object, phone: object) -> tuple[str, str]:
    """The keys by which an e-mail and a phone are known, blank for none; what is neither names nobody.

    What is wrong with them is said when a customer is made of them.
    """
    try:
        key = email_key(canonical_email(email)) if isinstance(email, str) and email else ""
        number = canonical_phone(phone, current_shop().country_code) if isinstance(phone, str) and phone else ""
    except (NotAnEmail, NotAPhone):
        return "", ""
    return key, number


def known_by(*, email: object, phone: object) -> Known:
    """Whom an e-mail and a phone name, in any spelling; locked until the transaction ends."""
    return known_by_each([keys_of(email=email, phone=phone)])[0]


def known_by_each(wanted: Sequence[tuple[str, str]], *, locked: bool = True) -> list[Known]:
    """Whom pairs of keys (``keys_of``) name, asked all at once; locked until the transaction ends, if so wanted."""
    directory = Directory(wanted, locked=locked)
    return [directory.find(*pair) for pair in wanted]


class Directory:
    """Those whom several pairs of keys (``keys_of``) name, and who come to be known meanwhile."""

    def __init__(self, wanted: Sequence[tuple[str, str]], *, locked: bool) -> None:
        """Ask for all at once; they are locked until the transaction ends, if so wanted."""
        self._by_key: dict[str, Customer] = {}
        self._by_number: dict[str, Customer] = {}
        keys, numbers = ({pair[place] for pair in wanted} - {""} for place in (0, 1))
        conditions = []
        if keys:
            conditions.append(_among("email_key", keys))
        if numbers:
            conditions.append(_among("phone", numbers))
        if conditions:
            rows = Customer.objects.select_for_update(of=("self",)) if locked else Customer.objects.all()
            for row in rows.filter(reduce(or_, conditions)).order_by("pk"):
                self.add(row)

    def add(self, customer: Customer) -> None:
        """Know somebody, who may not be stored yet."""
        if customer.email_key:
            self._by_key[customer.email_key] = customer
        if customer.phone:
            self._by_number[customer.phone] = customer

    def find(self, key: str, number: str) -> Known:
        """Whom one of the pairs names."""
        return Known(bool(key), self._by_key.get(key), self._by_number.get(number))


def _among(column: str, values: Collection[str]) -> Q:
    if len(values) == 1:
        return has_email(*values) if column == "email_key" else has_phone(*values)
    return Q(**{f"{column}__in": values}) & ~Q(**{column: ""})


def has_email(key: str) -> Q:
    """Who has the e-mail with this key; said so that both databases use the unique index, which leaves blanks out."""
    return Q(email_key=key) & ~Q(email_key="")


def has_phone(number: str) -> Q:
    """Who has the phone number, E.164; said like the e-mail."""
    return Q(phone=number) & ~Q(phone="")


def _named(customer: Customer) -> str:
    return _("{customer} (customer {number})").format(customer=customer, number=customer.pk)
