import pytest
from django.contrib import admin
from django.db import connection
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext

from apps.core.tenancy.models import ListColumns, Membership, Shop, User
from apps.core.tenancy.scope import shop_scope
from tests.support.api_client import Response
from tests.support.factories.catalog import make_product
from tests.support.panel.client import Panel, PanelWith

pytestmark = pytest.mark.usefixtures("in_shop")

LIST, SCREEN = "catalog_product_changelist", "catalog.product"
DELIVERED = ["picture", "title", "state", "stock", "vendor", "product_type", "price"]


def post_columns(panel: Panel, *ticked: str, order: list[str] | None = None, **data: object) -> Response:
    return panel.post(
        "choose_columns", **{"screen": SCREEN, "order": ".".join(order or ticked), "ticked": list(ticked), **data}
    )


def get_columns(page: Response) -> list[str]:
    return [name for name in page.context["cl"].list_display if name != "action_checkbox"]


def get_titles(page: Response) -> list[str]:
    return [row.title for row in page.context["cl"].result_list]


def test_a_list_shows_the_chosen_columns_in_their_order(owner_client: Panel) -> None:
    make_product("Hat", vendor="Acme", tags="warm, red")
    assert get_columns(owner_client.get(LIST)) == DELIVERED

    response = post_columns(owner_client, "picture", "title", "tagged", "vendor", query="q=hat&p=2")
    page = owner_client.get(LIST)

    assert response.headers["Location"] == owner_client.url(LIST) + "?q=hat"
    assert get_columns(page) == ["picture", "title", "tagged", "vendor"]
    assert "warm, red" in page.content.decode()


def test_columns_linking_to_the_row_stay_and_unknown_columns_are_ignored(owner_client: Panel) -> None:
    post_columns(owner_client, "vendor", "nonsense", "state")
    ListColumns.objects.update(columns="gone.vendor.vendor.title.delete_model")

    assert get_columns(owner_client.get(LIST)) == ["picture", "vendor", "title"]


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
def test_a_column_moves_by_one(owner_client: Panel, move: str, then: list[str]) -> None:
    response = post_columns(owner_client, "state", "vendor", order=["picture", "title", "state", "vendor"], move=move)

    assert get_columns(owner_client.get(LIST)) == then
    assert response.headers["Location"] == f"{owner_client.url(LIST)}?all=1#column-{move.partition(':')[2]}"


def test_the_default_choice_deletes_the_saved_columns(owner_client: Panel) -> None:
    post_columns(owner_client, "picture", "title", "vendor")

    post_columns(owner_client, "picture", "title", reset="1")

    assert get_columns(owner_client.get(LIST)) == DELIVERED
    assert not ListColumns.objects.exists()


def test_choices_are_personal(owner_client: Panel, admin_client_with: PanelWith, other_shop: Shop) -> None:
    with shop_scope(other_shop):
        Membership.objects.create(shop=other_shop, user=owner_client.user, account_owner=True)
    post_columns(owner_client, "picture", "title", "vendor")

    assert get_columns(admin_client_with("products").get(LIST)) == DELIVERED
    owner_client.shop = other_shop
    assert get_columns(owner_client.get(LIST)) == DELIVERED


def test_columns_need_the_permission_of_their_list(admin_client_with: PanelWith) -> None:
    panel = admin_client_with("orders")

    answers = post_columns(panel, "title", "vendor"), post_columns(panel, "title", screen="auth.group")

    assert [response.status_code for response in answers] == [403, 404]
    assert not ListColumns.objects.exists()


def test_a_kept_view_keeps_the_columns(owner_client: Panel) -> None:
    post_columns(owner_client, "picture", "title", "vendor")
    owner_client.post("save_view", screen=SCREEN, query="status__exact=active", name="Short")
    post_columns(owner_client, reset="1")

    (tab,) = owner_client.get(LIST).context["cl"].saved_views
    page = owner_client.http.get(f"{owner_client.url(LIST)}?{tab.view.query}")

    assert tab.view.query == "columns=picture.title.vendor&status__exact=active"
    assert get_columns(page) == ["picture", "title", "vendor"]
    assert page.context["cl"].current_view.view == tab.view
    assert [chip.text for chip in page.context["cl"].active_filters.chips] == ["Status: Active"]


def test_sorting_does_not_depend_on_the_visible_columns(owner_client: Panel) -> None:
    for title in ("Beret", "Ascot", "Cap"):
        make_product(title)
    before = owner_client.get(LIST, o="2")
    post_columns(owner_client, "vendor", "picture", "title", order=["vendor", "picture", "title"])

    page = owner_client.get(LIST, o="2")

    assert get_titles(before) == get_titles(page) == ["Ascot", "Beret", "Cap"]
    assert page.context["cl"].get_ordering_field_columns() == {3: "asc"}
    assert page.context["cl"].get_query_string({"o": "-3"}) == "?o=-2"


def test_a_sort_by_a_hidden_column_is_reported(owner_client: Panel) -> None:
    post_columns(owner_client, "picture", "title", "vendor")

    page = owner_client.get(LIST, o="7.-2")

    assert "Hidden columns are not used for sorting: Price" in page.content.decode()
    assert page.context["cl"].get_ordering_field_columns() == {2: "desc"}


def test_all_columns_of_a_list_cost_the_same_statements_however_many_rows(owner_client: Panel) -> None:
    costs = []
    post_columns(owner_client, *DELIVERED, "tagged", "published", "sold", "created_at")
    for count in (1, 4):
        for n in range(count):
            make_product(f"Hat {count} {n}")
        owner_client.get(LIST)
        with CaptureQueriesContext(connection) as statements:
            page = owner_client.get(LIST)
        costs.append(len(statements))

    assert len(get_columns(page)) == 11
    assert costs[0] == costs[1]


@pytest.mark.parametrize(
    "name", ["catalog_variant_changelist", "customers_customer_changelist", "orders_order_changelist"]
)
def test_each_list_shows_all_that_it_offers(owner_client: Panel, name: str) -> None:
    columns = owner_client.get(name).context["cl"].columns
    names = [column.name for column in columns.rows()]

    page = owner_client.get(name, columns=".".join(names))

    assert page.status_code == 200
    assert get_columns(page) == names
    assert len(names) > len(columns.defaults)


def test_cells_have_a_label_unless_their_column_needs_none(owner_client: Panel) -> None:
    make_product("Hat", vendor="Acme")

    row = owner_client.get(LIST).content.decode().split('class="data-row"')[1].split("</tr>")[0]

    assert '<td class="field-vendor">Acme</td>' in row
    assert 'data-label="Inventory"' in row


def test_self_evident_columns_are_among_those_that_a_list_offers(rf: RequestFactory) -> None:
    request = rf.get("/")
    request.user = User(is_superuser=True)

    for screen in admin.site._registry.values():
        offered = {getattr(column, "__name__", column) for column in screen.get_list_display(request)}
        offered |= {*getattr(screen, "optional_columns", ())}
        assert {*getattr(screen, "mobile_hide_labels", ())} <= offered, screen
