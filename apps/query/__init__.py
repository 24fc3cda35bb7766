"""The query language of customer search and of webhook filters: one grammar, two back ends.

``parser`` turns text into the frozen nodes of ``nodes``; ``database`` compiles these to a Django ``Q`` (search: words
match by their beginning, ignoring case) and ``predicate`` to a function over a JSON payload (filters: exact, by case).
Nothing here knows a domain model.
"""

from apps.query.nodes import (
    And,
    Comparator,
    Kind,
    Node,
    Not,
    Or,
    Term,
    render,
    terms_of,
)
from apps.query.parser import QuerySyntaxError, parse, parse_search

__all__ = (
    "And",
    "Comparator",
    "Kind",
    "Node",
    "Not",
    "Or",
    "QuerySyntaxError",
    "Term",
    "parse",
    "parse_search",
    "render",
    "terms_of",
)
