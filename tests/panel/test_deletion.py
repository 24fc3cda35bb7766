import re

import pytest
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.db import connection
from django.db.models import Model
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from apps.catalog.models import Product
from apps.core.admin.model_admin import delete_preview
from apps.core.admin.model_admin.base import PanelAdmin
from apps.core.admin.model_admin.delete_preview import RelatedRows
from apps.core.tenancy.models import Shop
from apps.customers.models import Customer
from apps.orders.models import Order
from tests.support.factories.catalog import make_custom, make_product
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith

pytestmark = pytest.mark.usefixtures("in_shop")


def get_delete_texts(page: str) -> list[str]:
    summary = page.partition("To be deleted</h2>")[2].partition("</ul>")[0]
    return [" ".join(item.split()) for item in re.findall(r"<li>(.*?)</li>", summary, re.DOTALL)]


def test_related_rows_are_counted_with_the_same_queries(product_client: Panel) -> None:
    few_rows, many_rows = (make_product(title, prices=("1.00",) * count) for title, count in (("Cup", 2), ("Mug", 40)))
    product_client.get("catalog_product_delete", few_rows.pk)  # warm up the process

    costs, pages = [], []
    for product in (few_rows, many_rows):
        with CaptureQueriesContext(connection) as queries:
            pages.append(product_client.get("catalog_product_delete", product.pk).content.decode())
        costs.append(len(queries))

    assert costs[0] == costs[1]
    assert "Product: Mug" in pages[1]
    assert get_delete_texts(pages[1]) == ["1 product", "40 variants, with their inventory", "1 option"]
    assert "Mug · 7" not in pages[1]


def test_protected_rows_are_counted(admin_client_with: PanelWith, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delete_preview, "MAX_COUNT", 3)
    for _ in range(4):
        make_order(shop, email="ann@example.com")
    customer = Customer.objects.get()
    panel = admin_client_with("customers")

    html = panel.get("customers_customer_delete", customer.pk).content.decode()
    panel.post("customers_customer_delete", customer.pk, post="yes")

    assert "3 or more orders" in html
    assert Customer.objects.filter(pk=customer.pk).exists()


def test_huge_deletions_are_refused(product_client: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delete_preview, "MAX_DELETED_ROWS", 2)
    ids = [make_product(title).pk for title in ("A", "B", "C")]

    action = {"action": "delete_selected", "_selected_action": ids, "post": "yes"}
    response = product_client.post("catalog_product_changelist", **action)

    assert "Select fewer rows." in response.content.decode()
    assert Product.objects.count() == 3


def test_collection_products_are_listed_from_both_sides(product_client: Panel) -> None:
    cup, mug = make_product("Cup", tags="blue"), make_product("Mug")
    kitchen, _ = make_custom("Kitchen", cup, mug), make_custom("Sale", cup)

    product = product_client.get("catalog_product_delete", cup.pk).content.decode()
    collection = product_client.get("catalog_customcollection_delete", kitchen.pk).content.decode()

    assert {"1 variant, with its inventory", "2 entries in collections", "1 tag"} <= set(get_delete_texts(product))
    assert get_delete_texts(collection) == [
        "1 custom collection",
        "2 collection entries (the products will not be deleted)",
    ]


def has_delete_label(model: type[Model], of: type[Model]) -> bool:
    """Return True if a model has a label or is hidden when rows of the model ``of`` are deleted."""
    labels = delete_preview.delete_labels
    return model in delete_preview.hidden_models or (model, of) in labels or (model, None) in labels


def test_deleted_rows_all_have_a_label() -> None:
    screens = [screen for screen in admin.site._registry.values() if not hasattr(screen, "remove_view")]
    deletable = [
        screen.model
        for screen in screens
        if type(screen).has_delete_permission in {PanelAdmin.has_delete_permission, ModelAdmin.has_delete_permission}
    ]

    missing = [
        (model._meta.label, other._meta.label)
        for model in deletable
        for other in delete_preview._find_cascading_models(model)
        if not has_delete_label(other, model)
    ]

    assert {Product, Customer, Order} <= set(deletable)
    assert missing == []


def test_deleted_rows_are_listed_in_the_readers_language() -> None:
    models = {(model, of or model) for model, of in delete_preview.delete_labels}

    def told_in(language: str) -> dict[tuple[str, str], list[str]]:
        with translation.override(language):
            return {
                (model._meta.label, of._meta.label): [
                    name for count in (1, 2) for name in RelatedRows(of, {model: count}).format_counts()
                ]
                for model, of in models
            }

    english, german = told_in("en"), told_in("de")

    assert len(models) > 15
    assert [key for key, names in english.items() if set(names) & set(german[key])] == []
