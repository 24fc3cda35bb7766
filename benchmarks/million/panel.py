"""List the panel's pages: every list with every sort order, filter and search, the palette, and single-object pages."""

import itertools
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from benchmarks.data import BEGIN

if TYPE_CHECKING:
    from django.contrib.admin.views.main import ChangeList
    from django.test import Client

    from apps.core.tenancy.models import Shop

WORDS = (
    "mug",
    "mug 99",
    "Mug 1017",
    "P1017-1",
    "#1017",
    "1017",
    "grace",
    "grace hopper",
    "grace.dijkstra.17@example.com",
    "buyer.17@example.com",
    "sweden",
    "handmade",
    "order",
    "delivery 1",
    "nobodyatall",
    "731000000051",
    "state:enabled",
    "lu",
)
# Search terms to combine with filters.
SEARCHED = ("grace", "mug 99", "nobodyatall")
# For each filter: a value with many or some matches, and a value without matches.
TYPED = {
    "vendor": ("smithy", "nobody"),
    "type": ("Kitchen", "nothing"),
    "tag": ("handmade", "nosuch"),
    "channel": ("web", "nosuch"),
    "product": ("mug 1017", "nothing"),
}
# The page size of the lists that are checked for their size in bytes.
OF_THE_WEIGHT = 25
Query = dict[str, str]


def list_addresses(client: "Client", shop: "Shop", rows: int) -> Iterator[tuple[str, str]]:
    """Yield the name and URL of each case. Each list is opened to find its options.

    Raises:
        AssertionError: A list page has no change list and is not listed in ``_TOGETHER``.
    """
    from django.contrib import admin

    from apps.core.admin.reverse import get_panel_url

    yield "panel home", get_panel_url(shop)
    for word in WORDS:
        yield f"palette “{word}”", f"{get_panel_url(shop, 'admin:search')}?{urlencode({'s': word, 'extended': 1})}"
    for model, screen in admin.site._registry.items():
        name = f"{model._meta.app_label}_{model._meta.model_name}"
        path = get_panel_url(shop, f"admin:{name}_changelist")
        response: Any = client.get(path)
        yield f"panel {name}", path
        entries = response.context_data.get("cl") if response.status_code == 200 else None
        assert entries or response.status_code != 200 or name in _TOGETHER, f"{name} has no change list"
        for called, query in _choices(entries, screen, name, rows) if entries else _together(name):
            yield f"panel {name}?{called}", f"{path}?{urlencode(query)}"
        row = model._base_manager.filter(**_of(model, shop)).order_by("id").values_list("pk", flat=True).first()
        if row is not None:
            for page_name in ("change", "history", "delete"):
                yield f"panel {name} {page_name}", get_panel_url(shop, f"admin:{name}_{page_name}", row)


def _of(model: Any, shop: "Shop") -> dict[str, Any]:
    names = {field.name for field in model._meta.fields}
    if "shop" in names:
        return {"shop": shop}
    return {"pk": shop.pk} if model is type(shop) else {}


def _choices(page: "ChangeList", screen: Any, name: str, rows: int) -> Iterator[tuple[str, Query]]:
    """Yield the names and queries for a list's sort orders, filters, pages and searches."""
    sorts = list(_sorts(page))
    # The session stores the page size, so all pages after the first two cases have fifty rows.
    plain = [{"size": str(OF_THE_WEIGHT)}, {"size": "50"}, *sorts, *_links(page), {"p": "3"}]
    if page.search_fields:
        plain += [{"q": word} for word in WORDS]
    yield from ((_called(query), query) for query in plain)
    yield from _together(name)
    typed = [queries for spec in page.filter_specs for queries in _typed(spec, rows)]
    yield from typed
    beside = [*sorts, *_views(page), *([{"q": word} for word in SEARCHED] if page.search_fields else ())]
    for (called, query), other in itertools.product(typed, beside):
        yield f"{called}&{_called(other)}", query | other
    for (called, query), (also, other) in itertools.combinations(typed, 2):
        if query.keys().isdisjoint(other):
            yield f"{called}&{also}", query | other


def _together(name: str) -> Iterator[tuple[str, Query]]:
    yield from ((_called(query), query) for query in _TOGETHER.get(name, ()))


def _called(query: Mapping[str, str]) -> str:
    return urlencode(query, safe=" #@:")


def _sorts(page: "ChangeList") -> Iterator[Query]:
    for number, column in enumerate(page.list_display):
        if page.get_ordering_field(column) and (page.sortable_by is None or column in page.sortable_by):
            yield {"o": str(number)}
            yield {"o": f"-{number}"}


def _links(page: "ChangeList") -> Iterator[Query]:
    """Yield the queries of the filter links."""
    from apps.core.admin.lists.typed_filters import TypedFilter

    for spec in page.filter_specs:
        if isinstance(spec, TypedFilter):
            continue
        if hasattr(spec, "lookup_choices") and hasattr(spec, "parameter_name"):
            yield from ({spec.parameter_name: str(value)} for value, _ in list(spec.lookup_choices)[:40])
            continue
        for choice in list(spec.choices(page))[:40]:
            query = dict(parse_qsl(str(choice.get("query_string", "")).lstrip("?"), keep_blank_values=True))
            if query:
                yield query


def _views(page: "ChangeList") -> Iterator[Query]:
    """Yield the queries of the list's predefined views."""
    for spec in page.filter_specs:
        if getattr(spec, "parameter_name", "") == "view":
            yield from ({"view": str(value)} for value, _ in getattr(spec, "lookup_choices", ()))


def _typed(spec: Any, rows: int) -> Iterator[tuple[str, Query]]:
    """Yield filter input that matches few rows, many rows, the first or last rows, and no rows."""
    from apps.core.admin.lists.typed_filters import AmountsFilter, DaysFilter, NumbersFilter, WordFilter

    name = getattr(spec, "parameter_name", "")
    if isinstance(spec, DaysFilter):
        first, last = (_day(second) for second in (0, rows))
        middle = _day(rows // 2)
        yield f"{name}=first day", {f"{name}_from": first, f"{name}_to": first}
        yield f"{name}=to the first day", {f"{name}_to": first}
        yield f"{name}=middle day", {f"{name}_from": middle, f"{name}_to": middle}
        yield f"{name}=from the middle day", {f"{name}_from": middle}
        yield f"{name}=last day", {f"{name}_from": last, f"{name}_to": last}
        yield f"{name}=before all", {f"{name}_to": _day(-timedelta(days=9).total_seconds())}
    elif isinstance(spec, AmountsFilter):
        for since, until in (("", "80"), ("100", "100"), ("100", ""), ("979", ""), ("", "500"), ("90000", "")):
            yield f"{name}={since}-{until}", {f"{name}_from": since, f"{name}_to": until}
    elif isinstance(spec, NumbersFilter):
        for since, until in (("0", "0"), ("1", "1"), ("1", ""), ("9", ""), ("90000", "")):
            yield f"{name}={since}-{until}", {f"{name}_from": since, f"{name}_to": until}
    elif isinstance(spec, WordFilter):
        for word in TYPED[name]:
            yield f"{name}={word}", {name: word}


def _day(second: float) -> str:
    return datetime.fromtimestamp(BEGIN + second, UTC).date().isoformat()


# Filters that are often combined, and queries for pages that are not Django change lists.
_TOGETHER: dict[str, tuple[dict[str, str], ...]] = {
    "orders_order": (
        {"view": "open", "fulfillment_status__exact": "fulfilled"},
        {"view": "open", "financial_status__exact": "refunded"},
        {"view": "open", "fulfillment_status__exact": "fulfilled", "financial_status__exact": "pending"},
        {"test__exact": "1", "o": "8"},
        {"fulfillment_status__exact": "partial", "o": "4"},
    ),
    "events_event": (
        {"who": "staff:8", "topic": "orders/create"},
        {"topic": "products/delete", "period": "365"},
        {"who": "system", "period": "7"},
        {"who": "staff:1", "q": "#1017"},
    ),
    "customers_customer": (
        {"state__exact": "declined", "o": "1"},
        {"tax_exempt__exact": "1", "verified_email__exact": "0"},
        {"q": "grace", "state__exact": "declined"},
    ),
    "catalog_product": (
        {"status__exact": "draft", "o": "1"},
        {"q": "mug", "status__exact": "draft"},
    ),
    "content_theme": (),
    "inventory_inventoryitem": (
        *({"q": word} for word in WORDS),
        {"stock": "low"},
        {"stock": "low", "q": "mug 99"},
        {"p": "3"},
    ),
}
