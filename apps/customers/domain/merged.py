"""What one customer is made of two: whose value of each field stays, and what is put together.

A field that one of them has is kept. Where both have one, ``Side`` says whose it is: as chosen, else that of the
customer who stays. Consent and account are never chosen. A consent to marketing holds for the e-mail or the phone that
it was given for, so it stays with the one that stays; and an account is the one of the e-mail that logs into it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from apps.customers.domain import accounts, consents
from apps.customers.domain.addresses import COLUMNS
from apps.customers.domain.consents import Channel, Consent, consent_of
from apps.customers.models import Address, Customer
from apps.ground import tags
from apps.ground.attrs import Attrs
from apps.ground.errors import DomainError
from apps.ground.phrases import too_long
from apps.metafields.domain import moving
from apps.metafields.domain.owners import owner_of

LONGEST_NOTE = 5000


class MergeRefused(DomainError):
    """The two cannot become one customer, or not so."""

    code = "merge_refused"


class Side(StrEnum):
    """Whose value of a field stays."""

    KEEP = "keep"
    OTHER = "other"
    BOTH = "both"


# By field; both notes may stay, one below the other.
Choices = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of which both customers may have a value.

    Attributes:
        name: Of the choice.
        label: For people.
        shown: The value as text, blank for none.
        columns: Of the customer, that go together.
        sides: What may be chosen; the first one counts where nothing is.
    """

    name: str
    label: StrOrPromise
    shown: Callable[[Customer], str]
    columns: tuple[str, ...] = ()
    sides: tuple[Side, ...] = (Side.KEEP, Side.OTHER)

    def open(self, keep: Customer, other: Customer) -> bool:
        """Whether there is a choice: both have a value, and not the same."""
        ours, theirs = self.shown(keep), self.shown(other)
        return bool(ours and theirs) and ours != theirs

    def side(self, keep: Customer, other: Customer, choices: Choices) -> Side:
        """Whose value stays."""
        if self.open(keep, other):
            return Side(choices.get(self.name, self.sides[0]))
        return Side.KEEP if self.shown(keep) or not self.shown(other) else Side.OTHER


def _tax(customer: Customer) -> str:
    exemptions = ", ".join(map(str, customer.tax_exemptions))
    if exemptions:
        return _("Exempt: {exemptions}").format(exemptions=exemptions)
    return _("Exempt") if customer.tax_exempt else _("Pays tax")


def _default_address(customer: Customer) -> str:
    return str(customer.default_address or "")


def _named(customer: Customer) -> dict[tuple[str, str], str]:
    rows = moving.held_by(owner_of(customer), customer.pk).order_by("namespace", "key")
    return {(row.namespace, row.key): row.value for row in rows}


def _metafields(customer: Customer) -> str:
    return ", ".join(f"{namespace}.{key}" for namespace, key in _named(customer))


class _Metafields(Field):
    """Those that both have under one name and with different values."""

    def open(self, keep: Customer, other: Customer) -> bool:
        ours, theirs = _named(keep), _named(other)
        return any(ours[name] != theirs[name] for name in ours.keys() & theirs.keys())


FIELDS = (
    Field("name", gettext_lazy("Name"), lambda customer: customer.name, ("first_name", "last_name")),
    Field("email", gettext_lazy("E-mail"), lambda customer: customer.email, ("email", "email_key", "verified_email")),
    Field("phone", gettext_lazy("Phone"), lambda customer: customer.phone, ("phone",)),
    Field("note", gettext_lazy("Note"), lambda customer: customer.note, ("note",), (Side.BOTH, Side.KEEP, Side.OTHER)),
    Field("tax", gettext_lazy("Taxes"), _tax, ("tax_exempt", "tax_exemptions")),
    Field("multipass", "Multipass", lambda customer: customer.multipass_identifier, ("multipass_identifier",)),
    Field("default_address", gettext_lazy("Default address"), _default_address),
    _Metafields("metafields", gettext_lazy("Metafields of one name"), _metafields),
)
_BY_NAME = {field.name: field for field in FIELDS}


def check(choices: Choices) -> None:
    """Refuse choices that there are not.

    Raises:
        MergeRefused: ``{field: [messages]}``.
    """
    errors: dict[str, list[str]] = {}
    for name, side in choices.items():
        if name not in _BY_NAME:
            errors[name] = [_("is no field of a merge")]
        elif side not in _BY_NAME[name].sides:
            errors[name] = [f"must be one of {', '.join(_BY_NAME[name].sides)}"]
    if errors:
        raise MergeRefused(errors)


def side_of(name: str, keep: Customer, other: Customer, choices: Choices) -> Side:
    """Whose value of a field stays."""
    return _BY_NAME[name].side(keep, other, choices)


def values(keep: Customer, other: Customer, choices: Choices) -> Attrs:
    """The columns of the one customer, but for consents, account, addresses and what follows from the orders.

    Raises:
        MergeRefused: Both notes or both customers' tags are more than a customer can have.
    """
    taken: Attrs = {}
    for field in FIELDS:
        side = field.side(keep, other, choices)
        if side is Side.BOTH:
            taken["note"] = f"{keep.note}\n\n{other.note}"
        else:
            taken |= {name: getattr(other if side is Side.OTHER else keep, name) for name in field.columns}
    if len(taken["note"]) > LONGEST_NOTE:
        raise MergeRefused({"note": [too_long(LONGEST_NOTE)]})
    joined = all_tags(keep, other)
    if fault := tags.fault_of(joined):
        raise MergeRefused({"tags": [fault]})
    return taken | {"tags": ", ".join(joined)}


def all_tags(keep: Customer, other: Customer) -> list[str]:
    """The tags of both, each once."""
    return tags.canonical([*keep.tags.split(","), *other.tags.split(",")])


def consent(channel: Channel, keep: Customer, other: Customer, choices: Choices) -> Consent:
    """The consent of who has the e-mail or the phone that stays; where neither has one, none was given."""
    contact = consents.KINDS[channel].contact
    if not getattr(keep, contact) and not getattr(other, contact):
        return consent_of(keep, channel)
    return consent_of(other if side_of(contact, keep, other, choices) is Side.OTHER else keep, channel)


def account(keep: Customer, other: Customer, choices: Choices) -> Attrs:
    """The account's columns: those of who has the e-mail that stays. A link names its customer, and goes with them."""
    theirs = side_of("email", keep, other, choices) is Side.OTHER
    if theirs:
        accounts.withdraw_link(other)
    owner = other if theirs else keep
    names = ("state", "password", "activation_nonce", "activation_expires_at")
    return {name: getattr(owner, name) for name in names}


def same_place(address: Address) -> tuple[str, ...]:
    """What is equal of two addresses that are the same, in any case and spacing."""
    return tuple(" ".join((getattr(address, name) or "").casefold().split()) for name in COLUMNS)
