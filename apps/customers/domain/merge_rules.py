"""Select the values of a merged customer from the two customers.

If only one customer has a value for a field, the merged customer gets this value. If both have a value, ``Side``
selects the value: staff choose a side, and the default is the customer that is kept.

Staff can't choose consents and account. Each consent comes from the customer who provides the email or phone that the
consent was given for. The account comes from the customer who provides the email, because customers log in with the
email.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from apps.core import tags
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import too_long
from apps.core.i18n.messages import define_text
from apps.core.types import Attrs
from apps.customers.domain import accounts, consents
from apps.customers.domain.addresses import COLUMNS
from apps.customers.domain.consents import Channel, Consent, get_consent
from apps.customers.domain.fields import CUSTOMER_FIELDS, CustomerField
from apps.customers.models import Address, Customer
from apps.metafields.domain import transfer
from apps.metafields.domain.owners import get_owner_type_of_row

_NO_MERGE_FIELD = define_text("customers.no_merge_field", "is not a merge field")


class MergeRefused(DomainError):
    pass


class Side(StrEnum):
    """The source of a field's value: the customer that is kept, the other customer, or both."""

    KEEP = "keep"
    OTHER = "other"
    BOTH = "both"


_COLUMNS = {column.name: column for column in Customer._meta.concrete_fields}
# The selected sides, keyed by the name of the merge field. ``CustomerField.can_combine`` allows the side ``both``.
Choices = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class MergeField:
    """A field that staff compare before a merge.

    Attributes:
        format_value: Returns the formatted value, or a blank string if there is no value.
        columns: The customer columns that are copied together.
        sides: The possible choices. The first choice is the default.
    """

    name: str
    label: StrOrPromise
    format_value: Callable[[Customer], str]
    columns: tuple[str, ...] = ()
    sides: tuple[Side, ...] = (Side.KEEP, Side.OTHER)

    def has_conflict(self, keep: Customer, other: Customer) -> bool:
        kept_value, other_value = self.format_value(keep), self.format_value(other)
        return bool(kept_value and other_value) and kept_value != other_value

    def select_side(self, keep: Customer, other: Customer, choices: Choices) -> Side:
        if self.has_conflict(keep, other):
            return Side(choices.get(self.name, self.sides[0]))
        return Side.KEEP if self.format_value(keep) or not self.format_value(other) else Side.OTHER


def _format_tax(customer: Customer) -> str:
    exemptions = ", ".join(map(str, customer.tax_exemptions))
    if exemptions:
        return _("Exempt: {exemptions}").format(exemptions=exemptions)
    return _("Exempt") if customer.tax_exempt else _("Pays tax")


def _get_metafield_values(customer: Customer) -> dict[tuple[str, str], str]:
    rows = transfer.get_owner_metafields(get_owner_type_of_row(customer), customer.pk).order_by("namespace", "key")
    return {(row.namespace, row.key): row.value for row in rows}


def _format_metafields(customer: Customer) -> str:
    return ", ".join(f"{namespace}.{key}" for namespace, key in _get_metafield_values(customer))


class _MetafieldsField(MergeField):
    """Metafields conflict if the customers have different values for the same metafield."""

    def has_conflict(self, keep: Customer, other: Customer) -> bool:
        ours, theirs = _get_metafield_values(keep), _get_metafield_values(other)
        return any(ours[name] != theirs[name] for name in ours.keys() & theirs.keys())


def _get_columns(name: str) -> tuple[str, ...]:
    return tuple(field.name for field in CUSTOMER_FIELDS if field.merged_with == name)


def _create_merge_field(field: CustomerField) -> MergeField:
    label = capfirst(_COLUMNS[field.name].verbose_name)
    sides = (Side.BOTH, Side.KEEP, Side.OTHER) if field.can_combine else (Side.KEEP, Side.OTHER)
    return MergeField(field.name, label, attrgetter(field.name), (field.name,), sides)


FIELDS = (
    MergeField("name", gettext_lazy("Name"), lambda customer: customer.name, _get_columns("name")),
    MergeField("email", gettext_lazy("Email"), lambda customer: customer.email, (*_get_columns("email"), "email_key")),
    *(_create_merge_field(field) for field in CUSTOMER_FIELDS if not field.merged_with),
    MergeField("tax", gettext_lazy("Taxes"), _format_tax, _get_columns("tax")),
    MergeField("multipass", "Multipass", lambda customer: customer.multipass_identifier, _get_columns("multipass")),
    MergeField(
        "default_address", gettext_lazy("Default address"), lambda customer: str(customer.default_address or "")
    ),
    _MetafieldsField("metafields", gettext_lazy("Metafields with the same name"), _format_metafields),
)
_BY_NAME = {field.name: field for field in FIELDS}


def check_choices(choices: Choices) -> None:
    errors: dict[str, list[str]] = {}
    for name, side in choices.items():
        if name not in _BY_NAME:
            errors[name] = [_NO_MERGE_FIELD]
        elif side not in _BY_NAME[name].sides:
            errors[name] = [f"must be one of {', '.join(_BY_NAME[name].sides)}"]
    if errors:
        raise MergeRefused(errors)


def select_field_side(name: str, keep: Customer, other: Customer, choices: Choices) -> Side:
    return _BY_NAME[name].select_side(keep, other, choices)


def merge_values(keep: Customer, other: Customer, choices: Choices) -> Attrs:
    """Return the columns of the merged customer, except the consents, account, addresses and order summary."""
    columns: Attrs = {}
    for field in FIELDS:
        side = field.select_side(keep, other, choices)
        if side is Side.BOTH:
            columns |= {name: _combine_texts(name, keep, other) for name in field.columns}
        else:
            columns |= {name: getattr(other if side is Side.OTHER else keep, name) for name in field.columns}
    merged_tags = merge_tags(keep, other)
    if fault := tags.find_tag_error(merged_tags):
        raise MergeRefused({"tags": [fault]})
    return columns | {"tags": ", ".join(merged_tags)}


def _combine_texts(name: str, keep: Customer, other: Customer) -> str:
    text, limit = f"{getattr(keep, name)}\n\n{getattr(other, name)}", _COLUMNS[name].max_length
    if limit is not None and len(text) > limit:
        raise MergeRefused({name: [too_long(limit)]})
    return text


def merge_tags(keep: Customer, other: Customer) -> list[str]:
    return tags.normalize_tags([*keep.tags.split(","), *other.tags.split(",")])


def merge_consent(channel: Channel, keep: Customer, other: Customer, choices: Choices) -> Consent:
    """Return the consent of the customer who provides the email or phone, or of ``keep`` if neither has a contact."""
    contact = consents.CHANNEL_DEFINITIONS[channel].contact
    if not getattr(keep, contact) and not getattr(other, contact):
        return get_consent(keep, channel)
    return get_consent(other if select_field_side(contact, keep, other, choices) is Side.OTHER else keep, channel)


def merge_account(keep: Customer, other: Customer, choices: Choices) -> Attrs:
    """Return the account columns of the customer with the email that is kept.

    An activation link only works for the customer that it was created for, so an unused link of ``other`` is revoked.
    """
    from_other = select_field_side("email", keep, other, choices) is Side.OTHER
    if from_other:
        accounts.revoke_activation_link(other)
    owner = other if from_other else keep
    names = ("state", "password", "activation_nonce", "activation_expires_at")
    return {name: getattr(owner, name) for name in names}


def get_address_key(address: Address) -> tuple[str, ...]:
    """Return a key that is equal for addresses that differ only in case and spacing."""
    return tuple(" ".join((getattr(address, name) or "").casefold().split()) for name in COLUMNS)
