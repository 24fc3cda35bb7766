"""List every GET route in the OpenAPI document, with each filter, and with each pair of enum filters."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from benchmarks.data import BEGIN

PREFIX = "/admin/api/"
# These parameters only change the page or the format. Pagination has a separate case.
OF_THE_PAGE = {"limit", "fields", "page_info"}
# The discount code that the lookup finds.
DISCOUNT_CODE = "SPRING10"
# Search queries, which are not in the OpenAPI document.
QUERIES = (
    "grace",
    "grace hopper",
    "nobodyatall",
    "email:grace.dijkstra.17@example.com",
    "email:grace*",
    "email:*@example.com",
    "first_name:Grace",
    "last_name:Knuth",
    "phone:2010000017",
    "tag:vip",
    "tag:vip OR country:Sweden",
    "tag:nosuch OR country:Norway",
    "country:Sweden",
    "country:Norway",
    "city:Lund",
    "city:Paris",
    "company:Northwind",
    "zip:10017",
    "note:plastic",
    "state:enabled",
    "state:declined",
    "orders_count:>19",
    "total_spent:>4990",
    "verified_email:true",
    "tax_exempt:true",
    "-tag:vip",
    "created_at:>2023-11-15",
    "last_order_date:<2023-11-14",
)


def format_moment(second: int) -> str:
    """Return the time of the first row plus this number of seconds, in API format."""
    import time

    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(BEGIN + second))


class RestRoutes:
    """The URLs for all GET requests.

    Args:
        description: The OpenAPI document.
        ids: The id of a row in the big shop, by table name.
        rows: The number of customers in the shop, which determines the times in the data.
    """

    def __init__(self, description: Mapping[str, Any], ids: Mapping[str, int], rows: int) -> None:
        self.description = description
        self.ids = ids
        self.rows = rows
        self.unreached: list[str] = []
        # Case names must not depend on the number of rows, so these values have labels.
        self.called: dict[object, str] = {
            format_moment(rows): "the end",
            format_moment(rows - 20): "20 s before the end",
            format_moment(rows // 2): "the middle",
            format_moment(rows // 2 + 5): "5 s after the middle",
            rows - 100: "100 before the end",
            rows // 2: "the middle",
        }

    def addresses(self) -> Iterator[tuple[str, str]]:
        """Yield the name and URL of each case."""
        for pattern, methods in self.description["paths"].items():
            if "get" not in methods or not pattern.startswith("/admin/"):
                continue
            path = self._path(pattern)
            if path is None:
                self.unreached.append(pattern)
                continue
            name = pattern.split("/", 4)[-1] if pattern.startswith(PREFIX) else pattern
            for query in self._queries(pattern, methods["get"].get("parameters", ())):
                labels = {key: self._said(key, value) for key, value in query.items()}
                query |= self._needed(pattern)
                yield f"{name}{'?' + urlencode(labels, safe=':>*<,-@ ') if labels else ''}", self._address(path, query)

    def _needed(self, pattern: str) -> dict[str, Any]:
        """Return the required parameters of a route."""
        if pattern.endswith("/discount_codes/lookup.json"):
            return {"code": DISCOUNT_CODE}
        if "/locations/" not in pattern and pattern.endswith("/inventory_levels.json"):
            return {"location_ids": self.ids["locations"]}
        if "/mapped_ids" in pattern:
            return {"resource": "order"}
        return {}

    def _said(self, name: str, value: object) -> object:
        if name == "ids":
            return "250 of them"
        return self.called.get(value, value) if name.endswith(("_min", "_max", "since_id")) else value

    def _address(self, path: str, query: Mapping[str, Any]) -> str:
        return f"{path}?{urlencode(query)}" if query else path

    def _path(self, pattern: str) -> str | None:
        """Return the path with ids of existing rows, or None if a row is missing."""
        parts: list[str] = []
        for part in pattern.split("/"):
            if not part.startswith("{"):
                parts.append(part)
                continue
            response = self.ids.get("/".join(parts[4:]))
            if response is None:
                response = self.ids.get(parts[-1])
            if response is None:
                return None
            parts.append(str(response) + part.partition("}")[2])
        return "/".join(parts)

    def _queries(self, pattern: str, parameters: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        schemas = {parameter["name"]: parameter["schema"] for parameter in parameters if parameter["in"] == "query"}
        yield {}
        if "limit" in schemas:
            yield {"limit": 250}
        filters = {name: self._values(name, schema, pattern) for name, schema in schemas.items()}
        for name, values in filters.items():
            if name not in OF_THE_PAGE:
                yield from ({name: value} for value in values)
        words = [name for name, schema in schemas.items() if "enum" in schema]
        for first_first, other in itertools.combinations(words, 2):
            for first, second in itertools.product(filters[first_first], filters[other]):
                if "any" not in {first, second}:
                    yield {first_first: first, other: second}
        yield from self._together(pattern, schemas)
        if pattern.endswith("customers/search.json"):
            yield from self._searches()

    def _together(self, pattern: str, schemas: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield filters that are often used together."""
        if "created_at_min" in schemas and "status" in schemas and "orders" in pattern:
            yield {"status": "any", "created_at_min": format_moment(self.rows - 20)}
            yield {"status": "closed", "updated_at_min": format_moment(self.rows)}
            yield {"status": "open", "processed_at_max": format_moment(20)}
        if "created_at_min" in schemas:
            middle = self.rows // 2
            yield {"created_at_min": format_moment(middle), "created_at_max": format_moment(middle + 5)}
        if "since_id" in schemas:
            yield {"since_id": self.rows // 2, "limit": 250}

    def _searches(self) -> Iterator[dict[str, Any]]:
        from apps.customers.domain.search_fields import ORDERS

        yield from ({"query": query} for query in QUERIES)
        for order in ORDERS:
            for direction in ("asc", "desc"):
                yield {"order": f"{order} {direction}"}
                yield {"query": "country:Sweden", "order": f"{order} {direction}"}

    def _values(self, name: str, schema: Mapping[str, Any], pattern: str) -> Sequence[object]:
        """Return values for a filter that match few rows, many rows and no rows."""
        if "enum" in schema:
            return list(schema["enum"])
        if name.endswith("_min"):
            return [format_moment(self.rows - 20), format_moment(20)]
        if name.endswith("_max"):
            return [format_moment(20), format_moment(self.rows - 20)]
        if name == "ids":
            return [",".join(str(number) for number in range(1, 251))]
        if name == "since_id":
            return [1, self.rows - 100]
        return _TEXTS.get(name) or self._texts(name, pattern)

    def _texts(self, name: str, pattern: str) -> Sequence[object]:
        if name == "title":
            return ["Mug 10", "Chosen", "No such title"]
        if name == "handle":
            return ["product-10", "news-10", "no-such-handle"]
        if name == "tag":
            return ["news", "week-7", "nosuch"]
        existing = name.removesuffix("s").removesuffix("_id")
        response = self.ids.get(f"{existing}s") or self.ids.get(existing)
        return [response or 17]


_TEXTS: dict[str, Sequence[object]] = {
    "vendor": ["Smithy", "nobody"],
    "product_type": ["Kitchen", "None"],
    "status": ["active", "draft", "archived,draft"],
    "name": ["#1017", "No such name"],
    "author": ["Ada", "Nobody"],
    "namespace": ["care", "nosuch"],
    "key": ["wash", "nosuch"],
    "type": ["single_line_text_field", "json"],
    "filter": ["Order", "Product", "Order,Product,Customer", "Article"],
    "verb": ["create", "updated", "confirmed", "destroy"],
    "src": ["https://scripts.example/none.js"],
    "address": ["https://nobody.example/hook"],
    "topic": ["orders/create"],
    "role": ["main"],
    "currency": ["USD"],
    "country": ["SE"],
    "presentment_currencies": ["USD"],
    "include_financial_summaries": ["true"],
    "include_order_reference_fields": ["true"],
    "in_shop_currency": ["true"],
    "checkout_id": ["c1"],
    "instruments": ["card"],
    "attribution_app_id": [1],
}
