"""Find possible duplicates of a customer, and compare two customers before they are merged."""

from dataclasses import dataclass

from django.db.models import Q, QuerySet

from apps.customers.domain.lookup import match_email, match_phone
from apps.customers.domain.merge_rules import FIELDS, MergeField, Side
from apps.customers.models import Address, Customer

MAX_CANDIDATES = 20
_CHOICE = "choose-"


@dataclass(frozen=True, slots=True)
class FieldComparison:
    """A field with the values of both customers. ``side`` is the customer with the selected value."""

    field: MergeField
    keep: str
    other: str
    has_choice: bool
    side: Side

    @property
    def allows_both(self) -> bool:
        return Side.BOTH in self.field.sides


def compare_customers(keep: Customer, other: Customer, choices: dict[str, str]) -> list[FieldComparison]:
    rows = [
        FieldComparison(
            field,
            field.format_value(keep),
            field.format_value(other),
            field.has_conflict(keep, other),
            field.select_side(keep, other, choices),
        )
        for field in FIELDS
    ]
    return [row for row in rows if row.keep or row.other]


def parse_choices(posted: dict[str, str]) -> dict[str, str]:
    return {name.removeprefix(_CHOICE): side for name, side in posted.items() if name.startswith(_CHOICE)}


def find_duplicates(customer: Customer) -> QuerySet[Customer]:
    """Return customers with the same phone or email, or with the same name and an address with the same postal code."""
    rows = Customer.objects.exclude(pk=customer.pk).filter(erasing_at=None, redacted_at=None)
    condition = Q(pk__in=())
    if customer.phone:
        condition |= match_phone(customer.phone)
    if customer.email_key:
        condition |= match_email(customer.email_key)
    if customer.last_name:
        zips = list(
            Address.objects.filter(customer=customer).exclude(zip="").values_list("zip", flat=True)[:MAX_CANDIDATES]
        )
        names = {"first_name": customer.first_name, "last_name": customer.last_name}
        condition |= Q(**names, pk__in=Address.objects.filter(zip__in=zips).values("customer"))
    return rows.filter(condition).order_by("-pk")
