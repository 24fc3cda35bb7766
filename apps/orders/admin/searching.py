"""What staff find orders by besides their customer; each by an index of its own, and never without a bound."""

from collections.abc import Iterator

from django.db.models import QuerySet, TextField, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Upper
from django.utils.formats import number_format
from django.utils.translation import gettext_lazy

from apps.customers.admin.searching import first_found
from apps.customers.domain import words
from apps.customers.domain.search_text import fold, marked
from apps.customers.models import Customer
from apps.ground.lookups import among
from apps.orders.models import LineItem, Order, Transaction
from apps.panel.screens.searching import SHORTEST_PART

LONGEST_ID = 18
# Of what very many orders or customers hold a part of, so many are looked at, and the newest orders besides.
FOLLOWED, RECENT = 1_000, 5_000
LOOKED_FOR = gettext_lazy("Number, SKU, city, tag, payment, or a part of the customer's name or e-mail")
TOO_MANY = gettext_lazy(
    "This text stands in the tags of more than {followed} orders, or in more than {followed} customers' names. "
    "Only some of those orders are shown; those among the newest {newest} with the tag are."
)
TOO_SHORT = gettext_lazy(
    "Of fewer than three letters orders are found by their number, SKU, city and payment, and by the beginnings of "
    "their customer's words; parts of names and tags need three."
)


def parts_of(orders: QuerySet[Order], term: str, most: int) -> Iterator[QuerySet[Order]]:
    """The orders of which a text is the name, the e-mail, a SKU, the city, a payment, or a part of tags and names.

    Args:
        orders: Those that may be found.
        term: The text.
        most: How many rows of another table are followed to their orders.
    """
    wanted = Upper(Value(term))
    yield orders.filter(name=f"#{term.removeprefix('#')}")
    yield orders.filter(email=term)
    lines = LineItem.rows().exclude(sku="").alias(wanted=Upper("sku")).filter(wanted=wanted)
    yield orders.filter(among(lines.order_by("-order_id").values("order_id")[:most]))
    payments = Transaction.rows().exclude(authorization="").filter(authorization=term)
    yield orders.filter(among(payments.order_by().values("order_id")[:most]))
    if term.isascii() and term.isdigit() and len(term) <= LONGEST_ID:
        yield orders.filter(among(Transaction.rows().filter(pk=int(term)).values("order_id")))
    if term.startswith("#"):
        return
    yield orders.alias(city=Upper(Cast(KT("shipping_address__city"), TextField()))).filter(city=wanted)
    if len(term) >= SHORTEST_PART:
        # A tag may be that of a third of all orders: putting those into order would read them all.
        yield orders.filter(among(_tagged(orders, term).values("pk")[:FOLLOWED]))
        newest = Order.rows().order_by("-pk").values("pk")[:RECENT]
        yield orders.filter(among(newest), tags__icontains=term)
        named = _named(term)
        followed = first_found(named, most) if most < FOLLOWED else named[:FOLLOWED]
        yield orders.filter(among(followed.values("pk"), "customer"))


def note_on(term: str) -> str:
    """What a search for a text did not do, in a sentence; empty where it did all."""
    if 0 < len(term) < SHORTEST_PART:
        return str(TOO_SHORT)
    cut = _tagged(Order.rows(), term), _named(term)
    if not term.startswith("#") and any(rows.values("pk")[FOLLOWED : FOLLOWED + 1].exists() for rows in cut):
        return TOO_MANY.format(
            followed=number_format(FOLLOWED, force_grouping=True), newest=number_format(RECENT, force_grouping=True)
        )
    return ""


def _tagged(orders: QuerySet[Order], term: str) -> QuerySet[Order]:
    return orders.exclude(tags="").filter(tags__icontains=term).order_by()


def _named(term: str) -> QuerySet[Customer]:
    part = fold(term)
    if marked(term)[1:] != part:
        # An e-mail, say: a text of several words, which are searched by their beginnings.
        return Customer.rows().none()
    return Customer.rows().filter(words.where("search_text", part)).order_by()
