"""The query language of customer search and webhook filters: one grammar, two back ends.

``parser`` parses text into the frozen nodes defined in ``nodes``. For searches, ``database`` compiles nodes to a Django
``Q`` (words match by prefix, ignoring case). For filters, ``predicate`` compiles nodes to a function that checks a JSON
payload (exact and case-sensitive). This package does not depend on domain models.
"""

from apps.core.search_query.nodes import And, Comparator, Kind, Node, Not, Or, Term, iterate_terms, render_query
from apps.core.search_query.parser import QuerySyntaxError, parse_query, parse_search
