from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from apps.bulk_edits.domain import edits
from apps.bulk_edits.models import BulkEdit, EditedRow
from apps.catalog.domain import products
from apps.catalog.domain.inputs import ProductParts
from apps.catalog.models import Product, Variant
from apps.core.events.models import Event
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.models import ConsentChange, Customer
from apps.orders.models import Order
from tests.support.api_client import Response
from tests.support.factories.catalog import make_product
from tests.support.factories.customers import make_customer
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith

pytestmark = pytest.mark.usefixtures("in_shop")


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("products")


def select_rows(panel: Panel, model: str, *ids: int, query: str = "") -> BulkEdit:
    across = {"select_across": "1"} if query else {}
    data = {"action": "edit_selected", "index": "0", "_selected_action": [*ids] or [0], **across}
    response = panel.http.post(f"{panel.url(f'{model}_changelist')}{query}", data)
    assert response.status_code == 302
    edit = BulkEdit.objects.latest("pk")
    assert response["Location"] == panel.url("bulk_edits_bulkedit_change", edit.pk)
    return edit


def fill_in_edit(panel: Panel, edit: BulkEdit, **typed: object) -> Response:
    key = panel.form_key("bulk_edits_bulkedit_change", edit.pk)
    return panel.post("bulk_edits_bulkedit_plan", edit.pk, form_key=key, **typed)


def raise_price(panel: Panel, product: Product) -> BulkEdit:
    edit = select_rows(panel, "catalog_product", product.pk)
    fill_in_edit(panel, edit, price_how="percent", price_value="10")
    return edit


def press_button(panel: Panel, edit: BulkEdit, name: str) -> str:
    """Press a button on the bulk edit's page, run the jobs and return the next page."""
    assert panel.forge(f"bulk_edits_bulkedit_{name}", edit.pk).status_code == 302
    for job in Job.objects.filter(state="waiting", task__startswith="bulk_edits.").order_by("pk"):
        queue.run_job(job.key)
    edit.refresh_from_db()
    return panel.get("bulk_edits_bulkedit_change", edit.pk).content.decode()


def run_edit(panel: Panel, model: str, *ids: int, **typed: Any) -> BulkEdit:
    edit = select_rows(panel, model, *ids)
    assert fill_in_edit(panel, edit, **typed).status_code == 302
    press_button(panel, edit, "start")
    return edit


def get_prices() -> list[str]:
    return [f"{price:.2f}" for price in Variant.objects.order_by("pk").values_list("price", flat=True)]


def get_row_results(edit: BulkEdit) -> dict[int, tuple[str, str]]:
    rows = EditedRow.objects.filter(edit=edit, dry=False)
    return {row_id: (fate, reason) for row_id, fate, reason in rows.values_list("row_id", "fate", "reason")}


def test_prices_of_products_are_looked_at_then_changed_then_put_back(panel: Panel) -> None:
    ids = [make_product(f"Mug {number}", prices=("10.00", "20.00")).pk for number in range(12)]

    edit = select_rows(panel, "catalog_product", *ids)
    fill_in_edit(panel, edit, price_how="percent", price_value="-10", price_round="0.99", tags_add="Sale, sale")
    page = panel.get("bulk_edits_bulkedit_change", edit.pk).content.decode()

    assert get_prices() == ["10.00", "20.00"] * 12
    assert [text for text in ("Preview of the first 10 of 12 rows", "Change 12 products") if text not in page] == []
    assert page.count("Price (2 variants):") == 10
    assert f'<a href="{panel.url("catalog_product_change", ids[0])}">Mug 0</a>' in page
    assert (page.count("<del>10.00 – 20.00</del>"), page.count("<ins>9.99 – 18.99</ins>")) == (10, 10)

    assert "Changed" in press_button(panel, edit, "start")
    assert (edit.state, get_prices()) == ("done", ["9.99", "18.99"] * 12)
    assert {*Product.objects.values_list("tags", flat=True)} == {"Sale"}
    actors = Event.objects.filter(topic="products/update").values_list("actor", flat=True)
    assert list(actors) == [f"staff:{panel.user.pk}"] * 12

    press_button(panel, edit, "undo")
    assert (edit.state, get_prices()) == ("undone", ["10.00", "20.00"] * 12)
    assert {fate for fate, _ in get_row_results(edit).values()} == {"undone"}


def test_rows_found_by_a_list_are_edited(other_shop: Shop, panel: Panel) -> None:
    with shop_scope(other_shop):
        stranger = make_product("Mug", status="draft")
    ids = {make_product(f"Mug {number}", status="draft").pk for number in range(3)}
    make_product("Mug", status="active")
    make_product("Plate", status="draft")

    edit = select_rows(panel, "catalog_product", query="?q=mug&status__exact=draft")
    fill_in_edit(panel, edit, status="archived", vendor="Clay & Co", product_type="Crockery")
    press_button(panel, edit, "start")

    assert set(edit.ids) == ids
    changed = Product.objects.filter(status="archived", vendor="Clay & Co", product_type="Crockery")
    assert {*changed.values_list("pk", flat=True)} == ids
    with shop_scope(other_shop):
        assert Product.objects.get(pk=stranger.pk).status == "draft"


def test_a_row_that_is_refused_stops_no_other_and_says_why(panel: Panel) -> None:
    cheap, dear, deleted = (make_product(prices=(price,)).pk for price in ("1.00", "20.00", "30.00"))
    edit = select_rows(panel, "catalog_product", cheap, dear, deleted)
    fill_in_edit(panel, edit, price_how="amount", price_value="-5", price_round="")
    products.delete_product(Product.objects.get(pk=deleted), actor="system", at=timezone.now())

    page = press_button(panel, edit, "start")

    assert get_prices() == ["1.00", "15.00"]
    assert get_row_results(edit) == {
        cheap: ("refused", "price must be greater than or equal to 0"),
        dear: ("changed", ""),
        deleted: ("refused", "was deleted"),
    }
    assert "must be greater than or equal to 0" in page
    report = panel.get("bulk_edits_bulkedit_report", edit.pk).content.decode()
    assert f"{cheap},Mug,Rejected,price must be greater than or equal to 0," in report
    assert "Price: 20.00 → 15.00" in report


def test_a_row_that_was_changed_since_is_not_put_back(panel: Panel) -> None:
    still, moved = make_product(vendor="A"), make_product(vendor="A")
    edit = run_edit(panel, "catalog_product", still.pk, moved.pk, vendor="B")
    products.update_product(moved, {"vendor": "C"}, ProductParts(), actor="system", at=timezone.now())

    press_button(panel, edit, "undo")

    assert get_row_results(edit) == {still.pk: ("undone", ""), moved.pk: ("kept", "was changed after the bulk edit")}
    assert [*Product.objects.order_by("pk").values_list("vendor", flat=True)] == ["A", "C"]


def test_variants_of_one_product_are_changed_independently(panel: Panel) -> None:
    product = make_product(prices=("10.00", "20.00", "30.00"))
    first, second, _ = Variant.objects.filter(product=product).order_by("pk")

    typed = {"compare_at_price_how": "copy", "price_how": "percent", "price_value": "-50"}
    edit = run_edit(panel, "catalog_variant", first.pk, second.pk, **typed)

    assert get_prices() == ["5.00", "10.00", "30.00"]
    assert Variant.objects.get(pk=second.pk).compare_at_price == Decimal(20)
    assert Product.objects.get().lowest_price == Decimal(5)
    press_button(panel, edit, "undo")
    assert get_prices() == ["10.00", "20.00", "30.00"]
    assert Variant.objects.get(pk=second.pk).compare_at_price is None


def test_customers_get_tags_and_consents_as_in_the_api(admin_client_with: PanelWith) -> None:
    panel = admin_client_with("customers")
    ada = make_customer(email="ada@example.com", tags="old, vip").pk
    bob = make_customer(first_name="Bob", email="").pk

    typed = {"tags_add": "new", "tags_remove": "OLD", "email_consent": "subscribed"}
    edit = run_edit(panel, "customers_customer", ada, bob, **typed)

    assert get_row_results(edit) == {ada: ("changed", ""), bob: ("refused", "email_marketing_consent needs an email")}
    changed = Customer.objects.get(pk=ada)
    assert (changed.tags, changed.email_marketing_state) == ("new, vip", "subscribed")
    assert Customer.objects.get(pk=bob).tags == ""
    assert ConsentChange.objects.filter(customer=ada, actor=f"staff:{panel.user.pk}").count() == 1
    assert Event.objects.filter(topic="customers_email_marketing_consent/update").count() == 1


def test_orders_are_tagged_archived_and_reopened(shop: Shop, admin_client_with: PanelWith) -> None:
    panel = admin_client_with("orders", "edit_orders")
    ids = [make_order(shop).pk for _ in range(2)]

    edit = run_edit(panel, "orders_order", *ids, tags_add="fair", status="closed")
    assert {*Order.objects.values_list("status", "tags")} == {("closed", "fair")}

    press_button(panel, edit, "undo")
    assert {*Order.objects.values_list("status", "tags")} == {("open", "")}


def test_a_change_begins_once(panel: Panel) -> None:
    edit = raise_price(panel, make_product(prices=("10.00",)))
    keys = [panel.form_key("bulk_edits_bulkedit_change", edit.pk) for _ in range(2)]

    for key in (*keys, keys[0]):
        assert panel.post("bulk_edits_bulkedit_start", edit.pk, form_key=key).status_code == 302
    for job in Job.objects.filter(task=edits.RUN_TASK):
        queue.run_job(job.key)

    assert get_prices() == ["11.00"]


def test_a_stopped_change_leaves_the_rest_and_can_be_undone(panel: Panel) -> None:
    edit = raise_price(panel, make_product(prices=("10.00",)))
    panel.forge("bulk_edits_bulkedit_start", edit.pk)

    press_button(panel, edit, "stop")

    assert (edit.state, get_prices()) == ("stopped", ["10.00"])


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({}, "Enter at least one change."),
        ({"price_how": "set", "price_value": "-1"}, "Must not be negative."),
        ({"price_how": "percent", "price_value": "-101"}, "be lowered by more than 100 percent."),
        ({"price_how": "set", "price_value": "0.001"}, "too many decimal places for"),
        ({"price_how": "set", "price_value": "nine"}, "Enter a number."),
        ({"price_how": "set", "price_value": "1", "price_round": "7"}, "Select a valid choice."),
        ({"status": "sold"}, "Select a valid choice."),
        ({"tags_add": "x" * 256}, "Is too long"),
        ({"vendor": "x" * 256}, "at most 255 characters"),
    ],
)
def test_invalid_edits_are_refused(panel: Panel, typed: dict[str, str], message: str) -> None:
    edit = select_rows(panel, "catalog_product", make_product().pk)

    response = fill_in_edit(panel, edit, **typed)

    assert response.status_code == 200
    assert message in response.content.decode()
    edit.refresh_from_db()
    assert edit.operations == {}
    assert not EditedRow.objects.exists()


def test_edits_need_the_permission_at_every_step(shop: Shop, panel: Panel, admin_client_with: PanelWith) -> None:
    viewer, other = admin_client_with("orders", "export_orders"), admin_client_with("customers")
    edit = raise_price(panel, make_product(prices=("10.00",)))

    assert b"edit_selected" not in viewer.get("orders_order_changelist").content
    viewer.post("orders_order_changelist", action="edit_selected", index="0", _selected_action=[make_order(shop).pk])
    assert other.get("bulk_edits_bulkedit_change", edit.pk).status_code == 403
    assert other.forge("bulk_edits_bulkedit_start", edit.pk).status_code == 403
    assert b"Products" not in other.get("bulk_edits_bulkedit_changelist").content.split(b"result_list")[-1]
    panel.forge("bulk_edits_bulkedit_start", edit.pk)
    panel.user.memberships.all().delete()
    assert BulkEdit.objects.count() == 1
    queue.run_job(Job.objects.get(task=edits.RUN_TASK).key)
    edit.refresh_from_db()

    assert (edit.state, get_prices()) == ("failed", ["10.00"])


def test_drafts_go_after_a_day_and_edits_after_ninety(panel: Panel) -> None:
    product = make_product(vendor="A")
    run_edit(panel, "catalog_product", product.pk, vendor="B")
    select_rows(panel, "catalog_product", product.pk)
    now = timezone.now()

    ages = (timedelta(hours=23), timedelta(hours=25), timedelta(days=89), timedelta(days=91))
    assert [edits.delete_old_edits(now + age) for age in ages] == [0, 1, 0, 1]
    assert not EditedRow.objects.exists()


def test_variants_are_in_the_menu(panel: Panel) -> None:
    assert f'href="{panel.url("catalog_variant_changelist")}"' in panel.get().content.decode()
