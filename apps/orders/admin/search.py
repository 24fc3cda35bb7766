"""Search orders by order fields and by customer. Every condition uses an index and has a limit."""

from collections.abc import Iterator
from typing import NamedTuple

from django.db.models import Q, QuerySet, TextField, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Upper
from django.utils.translation import gettext_lazy

from apps.core.db.lookups import MIN_TRIGRAM_LENGTH, in_materialized
from apps.core.db.sort_tables import order_rows
from apps.core.i18n import formats
from apps.core.tenancy.models import Shop
from apps.customers.admin.changelist_search import (
    COMMON_TERM_MATCHES,
    COMMON_TERM_SCAN,
    build_search_condition,
    get_first_matches,
    scan_first_rows,
)
from apps.customers.domain import search_columns
from apps.customers.domain.search_columns import fold_text, mark_words
from apps.customers.models import Customer
from apps.orders.admin.number_search import find_by_number
from apps.orders.models import LineItem, Order, Transaction

MAX_ID_LENGTH = 18
# A common term could match most orders or customers. A search therefore uses at most ``MAX_FOLLOWED`` matches, and
# additionally compares tags in the newest ``NEWEST_ORDERS`` orders.
MAX_FOLLOWED, NEWEST_ORDERS = 1_000, 5_000
# The number of newest orders in which the panel-wide search compares tags.
PALETTE_NEWEST_ORDERS = 1_000
SEARCH_HELP = gettext_lazy("Order, customer, SKU, city, tag, payment")
TOO_MANY = gettext_lazy(
    "More than {followed} orders or customers match, so some matching orders are missing. "
    "For tags, only the newest {newest} orders are searched completely. Enter more text to narrow the search."
)
TOO_MANY_CUSTOMERS = gettext_lazy(
    "Too many customers match. Only the orders of the {number} customers who ordered most recently are searched. "
    "Enter more text to narrow the search."
)
TOO_SHORT = gettext_lazy(
    "Enter at least three letters to search within names and tags. Shorter search terms only match the "
    "order number, SKU, city, payment, or the beginning of a word in the customer's name."
)


class MatchingCustomers(NamedTuple):
    customers: list[QuerySet[Customer]]
    is_cut: bool = False


def find_orders(
    orders: QuerySet[Order], term: str, matching_customers: MatchingCustomers, limit: int
) -> Iterator[QuerySet[Order]]:
    """Yield querysets of matching orders. At most ``limit`` matching numbers, line items and payments are used."""
    yield from (
        orders.filter(in_materialized(customers.values("pk"), "customer")) for customers in matching_customers.customers
    )
    upper_term = Upper(Value(term))
    yield from find_by_number(orders, term, limit)
    yield orders.filter(email=term)
    line_items = LineItem.rows().exclude(sku="").alias(wanted=Upper("sku")).filter(wanted=upper_term)
    yield orders.filter(in_materialized(line_items.order_by("-order_id").values("order_id")[:limit]))
    payments = Transaction.rows().exclude(authorization="").filter(authorization=term)
    yield orders.filter(in_materialized(payments.order_by().values("order_id")[:limit]))
    if term.isascii() and term.isdigit() and len(term) <= MAX_ID_LENGTH:
        yield orders.filter(in_materialized(Transaction.rows().filter(pk=int(term)).values("order_id")))
    if term.startswith("#"):
        return
    yield orders.alias(city=Upper(Cast(KT("shipping_address__city"), TextField()))).filter(city=upper_term)
    if len(term) >= MIN_TRIGRAM_LENGTH:
        # A tag may be on a third of all orders, so the matches are not sorted. Sorting would read all of these orders.
        yield orders.filter(in_materialized(_orders_with_tag(orders, term).values("pk")[:MAX_FOLLOWED]))
        newest = (
            Order.rows()
            .order_by("-pk")
            .values("pk")[: PALETTE_NEWEST_ORDERS if limit < MAX_FOLLOWED else NEWEST_ORDERS]
        )
        yield orders.filter(in_materialized(newest), tags__icontains=term)


def find_customers(term: str, shop: Shop, limit: int) -> MatchingCustomers:
    """Return the customers with matching words, or with the term as part of their name.

    For very common names, an index search would read all matches, so only recent customers are searched.
    """
    if term.startswith("#"):
        return MatchingCustomers([])
    rows = Customer.rows()
    words_fit = build_search_condition(term, shop)
    matching = rows.filter(words_fit | _name_part_query(term) if _is_part(term) else words_fit).order_by()
    if limit < MAX_FOLLOWED:
        return MatchingCustomers([get_first_matches(matching, limit)])
    recent_ids = scan_first_rows(matching, ("-last_order_at", "-pk"), COMMON_TERM_SCAN)
    if len(recent_ids) >= COMMON_TERM_MATCHES:
        return MatchingCustomers([rows.filter(pk__in=recent_ids)], is_cut=True)
    # Word matches are sorted by latest order. Partial matches are not sorted. The ids are selected in a separate
    # subquery before sorting. Otherwise the planner may choose a nested loop over all rows if it assumes that the
    # tables are empty, as in a new shop.
    beginning = rows.filter(in_materialized(rows.filter(words_fit).order_by().values("pk")))
    return MatchingCustomers(
        [order_rows(beginning, ("-last_order_at", "-pk"))[:limit], _customers_with_name_part(term)[:MAX_FOLLOWED]]
    )


def get_cut_note(term: str, matching_customers: MatchingCustomers) -> str:
    if matching_customers.is_cut:
        return TOO_MANY_CUSTOMERS.format(number=formats.format_integer(COMMON_TERM_SCAN))
    if term.startswith("#") or len(term) < MIN_TRIGRAM_LENGTH:
        return ""
    cut = _orders_with_tag(Order.rows(), term), _customers_with_name_part(term)
    if any(rows.values("pk")[MAX_FOLLOWED : MAX_FOLLOWED + 1].exists() for rows in cut):
        return TOO_MANY.format(
            followed=formats.format_integer(MAX_FOLLOWED), newest=formats.format_integer(NEWEST_ORDERS)
        )
    return ""


def get_length_note(term: str) -> str:
    return str(TOO_SHORT) if 0 < len(term.strip()) < MIN_TRIGRAM_LENGTH else ""


def _orders_with_tag(orders: QuerySet[Order], term: str) -> QuerySet[Order]:
    return orders.exclude(tags="").filter(tags__icontains=term).order_by()


def _customers_with_name_part(term: str) -> QuerySet[Customer]:
    rows = Customer.rows().order_by()
    return rows.filter(_name_part_query(term)) if _is_part(term) else rows.none()


def _name_part_query(term: str) -> Q:
    return search_columns.match_column("search_text", fold_text(term))


def _is_part(term: str) -> bool:
    """Return True if a term can be part of a single word. An email address, for example, is several words."""
    return len(term) >= MIN_TRIGRAM_LENGTH and mark_words(term)[1:] == fold_text(term)
