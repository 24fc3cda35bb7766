"""What staff type into the search box: a query of the query language, or just words."""

import re

from django.db.models import Q, QuerySet

from apps.customers.domain.search import SEARCH
from apps.customers.models import Customer
from apps.ground.lookups import among
from apps.panel.screens.paging import COUNTED
from apps.panel.screens.searching import first_keys
from apps.query import QuerySyntaxError, Term
from apps.query.database import NOTHING, QueryValueError
from apps.query.nodes import Comparator
from apps.shops.models import Shop

MAX_WORDS = 10
# So many of the newest customers are looked at one by one; so many of those that fit are enough to show.
MET, ENOUGH = 2_000, 5


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

    Where very many have each of two words, the index is slow to tell who has both; they are soon met one by one.

    Args:
        found: Those that fit, in no order.
        most: How many.
    """
    newest = Customer.rows().order_by("-pk").values("pk")[:MET]
    met = list(found.filter(among(newest)).values_list("pk", flat=True)[:most])
    return Customer.rows().filter(pk__in=met) if len(met) >= ENOUGH else found[:most]


def _alternatives(text: str, shop: Shop) -> list[Q]:
    """Conditions of which any must hold."""
    try:
        return SEARCH.alternatives(SEARCH.parse(text), zone=shop.tzinfo)
    except (QuerySyntaxError, QueryValueError):
        words = re.findall(r"[^\s\"'()*:<>=\\]+", text)[:MAX_WORDS]
    if not words:
        return [NOTHING]
    return [Q(*(SEARCH.compile(Term(None, Comparator.EQUAL, word), zone=shop.tzinfo) for word in words))]
