"""What staff find orders by besides their customer; each by an index of its own, and never without a bound."""

from collections.abc import Iterator
from typing import NamedTuple

from django.db.models import Q, QuerySet, TextField, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Upper
from django.utils.translation import gettext_lazy

from apps.customers.admin.searching import FREQUENT, MET, first_found, matches, met_among
from apps.customers.domain import words
from apps.customers.domain.search_text import fold, marked
from apps.customers.models import Customer
from apps.ground import languages
from apps.ground.lookups import SHORTEST_PART, among
from apps.ground.ranks import ordered
from apps.orders.models import LineItem, Order, Transaction
from apps.shops.models import Shop

LONGEST_ID = 18
# Of what very many orders or customers hold a part of, so many are looked at, and the newest orders besides.
FOLLOWED, RECENT = 1_000, 5_000
# So many of the newest orders the search from anywhere looks at.
GLANCED = 1_000
LOOKED_FOR = gettext_lazy("Number, SKU, city, tag, payment, or a part of the customer's name or e-mail")
TOO_MANY = gettext_lazy(
    "This text stands in the tags of more than {followed} orders, or in more than {followed} customers' names. "
    "Only some of those orders are shown; those among the newest {newest} with the tag are."
)
TOO_MANY_BUYERS = gettext_lazy(
    "This text finds very many customers. Shown are the orders of those of them who are among the {number} who ordered "
    "last."
)
TOO_SHORT = gettext_lazy(
    "Of fewer than three letters orders are found by their number, SKU, city and payment, and by the beginnings of "
    "their customer's words; parts of names and tags need three."
)


class Buyers(NamedTuple):
    """The customers whose orders a search finds; ``cut`` where these are some of those that fit."""

    customers: list[QuerySet[Customer]]
    cut: bool = False


def parts_of(orders: QuerySet[Order], term: str, found: Buyers, most: int) -> Iterator[QuerySet[Order]]:
    """The orders of the buyers, and those of which a text is the name, e-mail, SKU, city, payment, or a part of a tag.

    Args:
        orders: Those that may be found.
        term: The text.
        found: Whom the text finds.
        most: How many rows of another table are followed to their orders.
    """
    yield from (orders.filter(among(each.values("pk"), "customer")) for each in found.customers)
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
        newest = Order.rows().order_by("-pk").values("pk")[: GLANCED if most < FOLLOWED else RECENT]
        yield orders.filter(among(newest), tags__icontains=term)


def buyers(term: str, shop: Shop, most: int) -> Buyers:
    """The customers whom a text finds by its words or as a part of their names.

    Of a name that very many have the customers who ordered last are looked at, one by one: the index would read all.

    Args:
        term: The text.
        shop: Whose customers they are.
        most: How many are followed to their orders.
    """
    if term.startswith("#"):
        return Buyers([])
    rows = Customer.rows()
    words_fit = matches(term, shop)
    found = rows.filter(words_fit | _part_fits(term) if _is_part(term) else words_fit).order_by()
    if most < FOLLOWED:
        return Buyers([first_found(found, most)])
    met = met_among(found, ("-last_order_at", "-pk"), MET)
    if len(met) >= FREQUENT:
        return Buyers([rows.filter(pk__in=met)], cut=True)
    # Those who ordered last come first, and of a part of a name any. They are found before they are sorted: where the
    # planner takes the tables for empty, as in a new store, it would compare all with all.
    beginning = rows.filter(among(rows.filter(words_fit).order_by().values("pk")))
    return Buyers([ordered(beginning, ("-last_order_at", "-pk"))[:most], _named(term)[:FOLLOWED]])


def short_note(term: str) -> str:
    """That a text is too short to be looked for everywhere, in a sentence; empty where it is not."""
    return str(TOO_SHORT) if 0 < len(term) < SHORTEST_PART else ""


def cut_note(term: str, found: Buyers) -> str:
    """That a search shows some of what it finds, in a sentence; empty where it shows all."""
    if found.cut:
        return TOO_MANY_BUYERS.format(number=languages.count(MET))
    if term.startswith("#") or len(term) < SHORTEST_PART:
        return ""
    cut = _tagged(Order.rows(), term), _named(term)
    if any(rows.values("pk")[FOLLOWED : FOLLOWED + 1].exists() for rows in cut):
        return TOO_MANY.format(followed=languages.count(FOLLOWED), newest=languages.count(RECENT))
    return ""


def _tagged(orders: QuerySet[Order], term: str) -> QuerySet[Order]:
    return orders.exclude(tags="").filter(tags__icontains=term).order_by()


def _named(term: str) -> QuerySet[Customer]:
    rows = Customer.rows().order_by()
    return rows.filter(_part_fits(term)) if _is_part(term) else rows.none()


def _part_fits(term: str) -> Q:
    return words.where("search_text", fold(term))


def _is_part(term: str) -> bool:
    """Whether a text can be a part of a word: an e-mail, say, is several, which are searched by their beginnings."""
    return len(term) >= SHORTEST_PART and marked(term)[1:] == fold(term)
