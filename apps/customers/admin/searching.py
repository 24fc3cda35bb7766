"""What staff type into the search box: a query of the query language, or just words."""

import re

from django.db.models import Q

from apps.customers.domain.search import SEARCH
from apps.query import QuerySyntaxError, Term
from apps.query.database import NOTHING, QueryValueError
from apps.query.nodes import Comparator
from apps.shops.models import Shop

MAX_WORDS = 10


def matches(text: str, shop: Shop) -> Q:
    """The customers that a text finds; what is no query is searched word by word."""
    text = text.replace("\x00", "")[:500].strip()
    try:
        return SEARCH.compile(SEARCH.parse(text), zone=shop.tzinfo)
    except (QuerySyntaxError, QueryValueError):
        words = re.findall(r"[^\s\"'()*:<>=\\]+", text)[:MAX_WORDS]
    if not words:
        return NOTHING
    terms = [SEARCH.compile(Term(None, Comparator.EQUAL, word), zone=shop.tzinfo) for word in words]
    return Q(*terms)
