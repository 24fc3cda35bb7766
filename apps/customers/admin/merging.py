"""Two customers who are one person: found, compared side by side, and merged."""

from dataclasses import dataclass

from django.db.models import Q, QuerySet

from apps.customers.domain.known import has_email, has_phone
from apps.customers.domain.merged import FIELDS, Field, Side
from apps.customers.models import Address, Customer

MOST_SHOWN = 20
_CHOICE = "choose-"


@dataclass(frozen=True, slots=True)
class Compared:
    """A field of both, as the page that asks shows it.

    Attributes:
        field: Which.
        keep: The value of who stays.
        other: The value of who goes.
        asked: Whether there is a choice.
        side: Whose value stays unless another is chosen.
    """

    field: Field
    keep: str
    other: str
    asked: bool
    side: Side

    @property
    def both(self) -> bool:
        """Whether both values may stay."""
        return Side.BOTH in self.field.sides


def compared(keep: Customer, other: Customer, chosen: dict[str, str]) -> list[Compared]:
    """The fields that one of them has."""
    rows = [
        Compared(field, field.shown(keep), field.shown(other), field.open(keep, other), field.side(keep, other, chosen))
        for field in FIELDS
    ]
    return [row for row in rows if row.keep or row.other]


def choices_in(posted: dict[str, str]) -> dict[str, str]:
    """The choices that a form carries."""
    return {name.removeprefix(_CHOICE): side for name, side in posted.items() if name.startswith(_CHOICE)}


def alike(customer: Customer) -> QuerySet[Customer]:
    """Who may be the same person: one with a phone or an e-mail of the addresses, or the name at the same place."""
    rows = Customer.objects.exclude(pk=customer.pk).filter(erasing_at=None, redacted_at=None)
    same = Q(pk__in=())
    if customer.phone:
        same |= has_phone(customer.phone)
    if customer.email_key:
        same |= has_email(customer.email_key)
    if customer.last_name:
        zips = list(
            Address.objects.filter(customer=customer).exclude(zip="").values_list("zip", flat=True)[:MOST_SHOWN]
        )
        names = {"first_name": customer.first_name, "last_name": customer.last_name}
        same |= Q(**names, pk__in=Address.objects.filter(zip__in=zips).values("customer"))
    found: QuerySet[Customer] = rows.filter(same).order_by("-pk")
    return found
