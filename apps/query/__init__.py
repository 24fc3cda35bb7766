"""The query language of customer search and webhook filters: one grammar, two back ends.

``parser`` parses text into the frozen nodes of ``nodes``. ``database`` compiles nodes to a Django ``Q`` (search: words
match by prefix, ignoring case), and ``predicate`` to a function over a JSON payload (filters: exact, case-sensitive).
This package knows no domain model.
"""

from apps.query.nodes import (
    And,
    Comparator,
    Kind,
    Node,
    Not,
    Or,
    Term,
    iterate_terms,
    render_query,
)
from apps.query.parser import QuerySyntaxError, parse_query, parse_search

__all__ = (
    "And",
    "Comparator",
    "Kind",
    "Node",
    "Not",
    "Or",
    "QuerySyntaxError",
    "Term",
    "iterate_terms",
    "parse_query",
    "parse_search",
    "render_query",
)
