"""What staff type into the search box: a query of the query language, or just words."""

import re
from collections.abc import Sequence

from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy

from apps.customers.domain.search import SEARCH
from apps.customers.models import Customer
from apps.ground import ranks
from apps.ground.lookups import among
from apps.panel.screens.paging import COUNTED
from apps.panel.screens.searching import first_keys
from apps.query import QuerySyntaxError, Term
from apps.query.database import NOTHING, QueryValueError
from apps.query.nodes import Comparator
from apps.shops.models import Shop

MAX_WORDS = 10
# So many of the newest customers are looked at one by one; so many of those that fit are enough to show.
GLANCED, ENOUGH = 1_000, 5
# Where so many of so many fit a list's search, very many do, and only this far it is walked.
FREQUENT, MET, WALKED = 25, 2_000, 8_000
VERY_MANY = gettext_lazy(
    "This text finds very many customers. Those among the first {number} of the list are shown; add a word for fewer."
)


def matches(text: str, shop: Shop) -> Q:
    """The customers that a text finds; what is no query is searched word by word.

    Of a query whose alternatives stand in several tables the newest rows of each, as many as a list counts.
    """
    found = _alternatives(text.replace("\x00", "")[:500].strip(), shop)
    if len(found) == 1:
        return found[0]
    rows = Customer.rows()
    return among(first_keys([rows.filter(each) for each in found], most=COUNTED))


def first_found(found: QuerySet[Customer], most: int) -> QuerySet[Customer]:
    """So many of the customers that fit, of very many any: where enough are among the newest, these.

    Args:
        found: Those that fit, in no order.
        most: How many.
    """
    met = met_among(found, ("-pk",), GLANCED)[:most]
    return found[:most] if len(met) < ENOUGH else Customer.rows().filter(pk__in=met)


def met_in_list(rows: QuerySet[Customer], fits: Q) -> list[int]:
    """Of a text that very many have, the keys of those that fit among the first ``WALKED`` of a list.

    Where other filters leave few of those, among any ``WALKED`` that they leave.

    Args:
        rows: The list without the text, in its order.
        fits: Who has the text.

    Returns:
        Nobody where fewer have the text or are left: the indexes find them all.
    """
    order = [name for name in rows.query.order_by if isinstance(name, str)]
    found = rows.filter(fits)
    if len(order) < len(found.query.order_by) or len(met_among(Customer.rows().filter(fits), order, MET)) < FREQUENT:
        return []
    met = met_among(found, order, WALKED)
    if len(met) >= FREQUENT:
        return met
    left = list(rows.order_by().values_list("pk", flat=True)[:WALKED])
    met = list(found.order_by().filter(pk__in=left).values_list("pk", flat=True))
    return met if len(left) == WALKED and len(met) >= FREQUENT else []


def met_among(found: QuerySet[Customer], order: Sequence[str], walked: int) -> list[int]:
    """The keys of those that fit among the first customers in an order, which are looked at one by one.

    Where very many have each of two words, the index is slow to tell who has both; they are soon met one by one.
    """
    first = ranks.nearest(Customer.rows(), ranks.by_rank(Customer, order), walked)
    return list(found.filter(among(first)).order_by().values_list("pk", flat=True))


def _alternatives(text: str, shop: Shop) -> list[Q]:
    """Conditions of which any must hold."""
    try:
        return SEARCH.alternatives(SEARCH.parse(text), zone=shop.tzinfo)
    except (QuerySyntaxError, QueryValueError):
        words = re.findall(r"[^\s\"'()*:<>=\\]+", text)[:MAX_WORDS]
    if not words:
        return [NOTHING]
    return [Q(*(SEARCH.compile(Term(None, Comparator.EQUAL, word), zone=shop.tzinfo) for word in words))]
