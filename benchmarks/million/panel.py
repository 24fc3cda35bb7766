"""Every list of the panel with every sort, filter and search; the palette, the home page, and a page of each kind."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

if TYPE_CHECKING:
    from django.contrib.admin.views.main import ChangeList
    from django.test import Client

    from apps.shops.models import Shop

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


def addresses(client: "Client", shop: "Shop", everything: Any) -> Iterator[tuple[str, str]]:
    """What each case is called, and its address; lists are opened once to learn what they offer."""
    from django.contrib import admin

    from apps.panel.addresses import panel_url

    yield "panel home", panel_url(shop)
    for word in WORDS:
        yield f"palette “{word}”", f"{panel_url(shop, 'admin:search')}?{urlencode({'s': word, 'extended': 1})}"
    for model, screen in admin.site._registry.items():
        name = f"{model._meta.app_label}_{model._meta.model_name}"
        path = panel_url(shop, f"admin:{name}_changelist")
        response = client.get(path)
        page = (response.context or {}).get("cl") if response.status_code == 200 else None
        yield f"panel {name}", path
        if page is not None:
            for query in _choices(page, screen, name):
                yield f"panel {name}?{urlencode(query, safe=' #@:')}", f"{path}?{urlencode(query)}"
        row = model._base_manager.filter(**_of(model, shop)).order_by("id").values_list("pk", flat=True).first()
        if row is not None:
            for page_name in ("change", "history", "delete"):
                yield f"panel {name} {page_name}", panel_url(shop, f"admin:{name}_{page_name}", row)


def _of(model: Any, shop: "Shop") -> dict[str, Any]:
    names = {field.name for field in model._meta.fields}
    if "shop" in names:
        return {"shop": shop}
    return {"pk": shop.pk} if model is type(shop) else {}


def _choices(page: "ChangeList", screen: Any, name: str) -> Iterator[dict[str, str]]:
    """The queries that a list's links, filters and search box make."""
    for number, column in enumerate(page.list_display):
        if page.get_ordering_field(column) and (page.sortable_by is None or column in page.sortable_by):
            yield {"o": str(number)}
            yield {"o": f"-{number}"}
    for spec in page.filter_specs:
        if hasattr(spec, "lookup_choices") and hasattr(spec, "parameter_name"):
            yield from ({spec.parameter_name: str(value)} for value, _ in list(spec.lookup_choices)[:40])
            continue
        for choice in list(spec.choices(page))[:40]:
            from urllib.parse import parse_qsl

            query = dict(parse_qsl(str(choice.get("query_string", "")).lstrip("?"), keep_blank_values=True))
            if query:
                yield query
    yield {"p": "3"}
    if page.search_fields:
        yield from ({"q": word} for word in WORDS)
    for query in _TOGETHER.get(name, ()):
        yield query


# Filters that are often chosen together.
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
}
