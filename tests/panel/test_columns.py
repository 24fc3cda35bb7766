"""Tests of list columns: chosen per staff member and stored with saved views."""

from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext

from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from apps.staff.models import ListColumns, Membership, User
from tests.catalog.factories import make_product
from tests.conftest import Response
from tests.panel.conftest import Panel, PanelWith

LIST, SCREEN = "catalog_product_changelist", "catalog.product"
DELIVERED = ["picture", "title", "state", "stock", "vendor", "product_type", "updated_at"]
BESIDE = ["action_checkbox"]


def choose(panel: Panel, *ticked: str, order: list[str] | None = None, **data: Any) -> Response:
    return panel.post(
        "choose_columns", **{"screen": SCREEN, "order": ".".join(order or ticked), "ticked": list(ticked), **data}
    )


def shown(page: Response) -> list[str]:
    return [name for name in page.context["cl"].list_display if name not in BESIDE]


def test_a_list_shows_the_chosen_columns_in_their_order(owner: Panel, shop: Shop) -> None:
    with shop_scope(shop):
        make_product("Hat", vendor="Acme", tags="warm, red")
    assert shown(owner.get(LIST)) == DELIVERED

    response = choose(owner, "picture", "title", "tagged", "vendor", query="q=hat&p=2")
    page = owner.get(LIST)

    assert response.headers["Location"] == owner.url(LIST) + "?q=hat"
    assert shown(page) == ["picture", "title", "tagged", "vendor"]
    assert "warm, red" in page.content.decode()


def test_the_columns_that_lead_to_a_row_stay_and_unknown_ones_are_nothing(owner: Panel, shop: Shop) -> None:
    choose(owner, "vendor", "nonsense", "state")
    with shop_scope(shop):
        ListColumns.objects.update(columns="gone.vendor.vendor.title.delete_model")

    assert shown(owner.get(LIST)) == ["picture", "vendor", "title"]


@pytest.mark.parametrize(
    ("move", "then"),
    [
        ("up:vendor", ["picture", "title", "vendor", "state"]),
        ("down:picture", ["title", "picture", "state", "vendor"]),
        ("up:picture", ["picture", "title", "state", "vendor"]),
        ("sideways:state", ["picture", "title", "state", "vendor"]),
        ("up:nonsense", ["picture", "title", "state", "vendor"]),
    ],
)
def test_a_column_moves_by_one(owner: Panel, move: str, then: list[str]) -> None:
    response = choose(owner, "state", "vendor", order=["picture", "title", "state", "vendor"], move=move)

    assert shown(owner.get(LIST)) == then
    assert response.headers["Location"] == f"{owner.url(LIST)}?all=1#column-{move.partition(':')[2]}"


def test_as_delivered_forgets_the_choice(owner: Panel, shop: Shop) -> None:
    choose(owner, "picture", "title", "vendor")

    choose(owner, "picture", "title", reset="1")

    assert shown(owner.get(LIST)) == DELIVERED
    with shop_scope(shop):
        assert not ListColumns.objects.exists()


def test_a_choice_is_a_persons_own_in_each_shop(
    owner: Panel, panel_with: PanelWith, shop: Shop, other_shop: Shop
) -> None:
    with shop_scope(other_shop):
        Membership.objects.create(shop=other_shop, user=owner.user, account_owner=True)
    choose(owner, "picture", "title", "vendor")

    assert shown(panel_with("products").get(LIST)) == DELIVERED
    owner.shop = other_shop
    assert shown(owner.get(LIST)) == DELIVERED


def test_columns_need_the_permission_of_their_list(panel_with: PanelWith, shop: Shop) -> None:
    panel = panel_with("orders")

    answers = choose(panel, "title", "vendor"), choose(panel, "title", screen="auth.group")

    assert [response.status_code for response in answers] == [403, 404]
    with shop_scope(shop):
        assert not ListColumns.objects.exists()


def test_a_kept_view_keeps_the_columns(owner: Panel) -> None:
    choose(owner, "picture", "title", "vendor")
    owner.post("save_view", screen=SCREEN, query="status__exact=active", name="Short")
    choose(owner, reset="1")

    (tab,) = owner.get(LIST).context["cl"].saved_views
    page = owner.http.get(f"{owner.url(LIST)}?{tab.view.query}")

    assert tab.view.query == "columns=picture.title.vendor&status__exact=active"
    assert shown(page) == ["picture", "title", "vendor"]
    assert page.context["cl"].current_view.view == tab.view
    assert [chip.text for chip in page.context["cl"].active_filters.chips] == ["Status: Active"]


def test_an_address_sorts_by_the_same_column_whatever_is_shown(owner: Panel, shop: Shop) -> None:
    with shop_scope(shop):
        for title in ("Beret", "Ascot", "Cap"):
            make_product(title)
    numbers = owner.get(LIST, o="2").context["cl"]
    choose(owner, "vendor", "picture", "title", order=["vendor", "picture", "title"])

    changelist = owner.get(LIST, o="2").context["cl"]

    assert [row.title for row in changelist.result_list] == ["Ascot", "Beret", "Cap"]
    assert [row.title for row in numbers.result_list] == ["Ascot", "Beret", "Cap"]
    assert changelist.get_ordering_field_columns() == {3: "asc"}
    assert changelist.get_query_string({"o": "-3"}) == "?o=-2"


def test_a_sort_by_a_hidden_column_is_told(owner: Panel) -> None:
    choose(owner, "picture", "title", "vendor")

    page = owner.get(LIST, o="7.-2")

    assert "The list is not sorted by Updated at" in page.content.decode()
    assert page.context["cl"].get_ordering_field_columns() == {2: "desc"}


def test_all_columns_of_a_list_cost_the_same_statements_however_many_rows(owner: Panel, shop: Shop) -> None:
    costs = []
    choose(owner, *DELIVERED, "tagged", "published", "sold", "created_at")
    for count in (1, 4):
        with shop_scope(shop):
            for n in range(count):
                make_product(f"Hat {count} {n}")
        owner.get(LIST)
        with CaptureQueriesContext(connection) as statements:
            page = owner.get(LIST)
        costs.append(len(statements))

    assert len(shown(page)) == 11
    assert costs[0] == costs[1]


@pytest.mark.parametrize(
    "name", ["catalog_variant_changelist", "customers_customer_changelist", "orders_order_changelist"]
)
def test_each_list_shows_all_that_it_offers(owner: Panel, name: str) -> None:
    columns = owner.get(name).context["cl"].columns
    names = [column.name for column in columns.rows()]

    page = owner.get(name, columns=".".join(names))

    assert page.status_code == 200
    assert shown(page) == names
    assert len(names) > len(columns.defaults)


def test_a_cell_carries_its_label_unless_its_column_says_that_it_needs_none(owner: Panel, shop: Shop) -> None:
    with shop_scope(shop):
        make_product("Hat", vendor="Acme")

    row = owner.get(LIST).content.decode().split('class="data-row"')[1].split("</tr>")[0]

    assert '<td class="field-vendor">Acme</td>' in row
    assert 'data-label="Inventory"' in row


def test_self_evident_columns_are_among_those_that_a_list_offers(rf: RequestFactory) -> None:
    request = rf.get("/")
    request.user = User(is_superuser=True)

    for screen in admin.site._registry.values():
        column_names = [getattr(column, "__name__", column) for column in screen.get_list_display(request)]
        assert {*getattr(screen, "mobile_hide_labels", ())} <= {
            *column_names,
            *getattr(screen, "optional_columns", ()),
        }, screen
