import re
from typing import Any

from django.apps import apps

from apps.core.tenancy.scope import shop_scope
from tests.support.factories.content import make_blog
from tests.support.panel.client import Panel
from tests.support.panel.html_forms import PageForm, get_form

# The required fields of each screen, with values.
LEAST: dict[str, dict[str, str]] = {
    "content_blog": {"title": "News"},
    "content_article": {"title": "Hello"},
    "content_page": {"title": "About us"},
    "content_policy": {"handle": "refund-policy", "body": "<p>Within 30 days.</p>"},
    "content_redirect": {"path": "/old", "target": "/new"},
    "content_mobileplatformapplication": {"platform": "ios", "application_id": "ABCDE12345.com.example.app"},
    "payments_paymenthandlerconfig": {"handler_id": "wallet_pay", "wallet_shop": "942252"},
    "inventory_location": {"name": "Harbour", "address1": "1 Quay Street", "city": "Boston", "zip": "02110"},
    "catalog_product": {"title": "Mug", "variants-0-option1": "Small"},
    "catalog_customcollection": {"title": "Kitchen"},
    "catalog_smartcollection": {
        "title": "Mugs",
        "rules-column": "title",
        "rules-relation": "contains",
        "rules-condition": "mug",
    },
    "metafields_metafield": {"namespace": "care", "key": "wash", "value": "Cold"},
    "customers_customer": {"first_name": "Anna"},
}
# The required fields of each screen's inline rows, with values.
ROWS: dict[str, dict[str, dict[str, str]]] = {"customers_customer": {"addresses": {"city": "Ottawa"}}}


def get_newest(screen: str) -> Any:
    return apps.get_model(screen.replace("_", "."))._base_manager.latest("pk").pk


def get_edit_form(panel: Panel, screen: str, pk: int | None = None) -> PageForm:
    page = panel.get(f"{screen}_change", pk) if pk else panel.get(f"{screen}_add")
    return get_form(page.content, model=screen.split("_")[1])


def submit_add_form(panel: Panel, screen: str) -> tuple[PageForm, dict[str, list[str]], PageForm]:
    """Submit the add form with the required values; return the form, the posted data and the form of the new row."""
    form = get_edit_form(panel, screen)
    data = form.data | {name: [value] for name, value in LEAST[screen].items()}
    if "blog" in data:
        with shop_scope(panel.shop):
            data["blog"] = [str(make_blog().pk)]
    for prefix, row in ROWS.get(screen, {}).items():
        data |= form.new_row(prefix, **row)
    response = panel.http.post(panel.url(f"{screen}_add"), data)
    assert response.status_code == 302, re.findall(r'(?s)<ul class="errorlist.*?</ul>', response.content.decode())
    return form, data, get_edit_form(panel, screen, get_newest(screen))
