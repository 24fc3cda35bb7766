from decimal import Decimal

import pytest

from apps.core.events.models import Event
from apps.core.jobs import consistency_checks
from apps.core.tenancy.models import Shop
from apps.orders.domain import edit_lines
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.domain.statuses import get_status_page_context
from apps.orders.models import LineItem, Order
from tests.support.api_client import Response
from tests.support.factories.orders import get_available, make_order, make_variant
from tests.support.panel.client import Panel
from tests.support.panel.html_forms import get_form

pytestmark = pytest.mark.usefixtures("in_shop")

EDIT = "orders_order_edit"
HOME = {"first_name": "Anna", "address1": "Storgatan 1", "zip": "111 22", "city": "Stockholm", "country": "Sweden"}
WHOLE = {**HOME, "last_name": "Lindqvist", "country_code": "SE", "province": "", "province_code": "", "company": None}


def save_order(panel: Panel, order: Order, **typed: str | None) -> Response:
    """Submit the displayed form with the typed values. A value of None unchecks a checkbox."""
    data = get_form(panel.get(EDIT, order.pk).content, model="order").data | {
        name: [value] for name, value in typed.items()
    }
    return panel.http.post(panel.url(EDIT, order.pk), {k: v for k, v in data.items() if v != [None]})


def test_a_shared_address_is_changed_once(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop, shipping_address=WHOLE, billing_address=WHOLE, email="anna@example.com")

    typed = {"shipping_address1": "Lillgatan 2", "shipping_city": "Umeå", "email": "new@example.com", "tags": "vip"}
    response = save_order(order_client, order, **typed)

    after = Order.objects.get()
    assert (response.status_code, after.email, after.tags) == (302, "new@example.com", "vip")
    assert after.shipping_address == after.billing_address == {**WHOLE, "address1": "Lillgatan 2", "city": "Umeå"}
    event = Event.objects.get(topic="orders/updated")
    assert (event.actor, event.changes["shipping_address"]) == (f"staff:{order_client.user.pk}", ["(hidden)"] * 2)


def test_saving_what_is_shown_changes_nothing(order_client: Panel, shop: Shop) -> None:
    # Like an imported address, this address has a country but no country code.
    order = make_order(shop, shipping_address=HOME, email="anna@example.com")

    assert save_order(order_client, order).status_code == 302

    assert Order.objects.get().version == order.version
    assert not Event.objects.filter(topic="orders/updated").exists()


def test_the_billing_address_can_be_another(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop, shipping_address=WHOLE, billing_address=WHOLE)
    unused = save_order(order_client, order, billing_city="Lund")
    assert "Clear this checkbox to use the billing address you entered." in unused.content.decode()

    saved = save_order(order_client, order, billing_same=None, billing_city="Lund", billing_country_code="DK")

    after = Order.objects.get()
    assert saved.status_code == 302
    assert after.shipping_address == WHOLE
    assert after.billing_address == {**WHOLE, "city": "Lund", "country": "Denmark", "country_code": "DK"}


def test_an_address_is_added_and_taken_away(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop)

    save_order(order_client, order, shipping_city="Oslo", shipping_country_code="NO")
    added = Order.objects.get().shipping_address
    save_order(order_client, order, shipping_city="", shipping_country_code="")

    assert added is not None
    assert (added["city"], added["country"]) == ("Oslo", "Norway")
    assert Order.objects.get().shipping_address is None


def test_invalid_values_are_reported_at_their_fields_and_nothing_is_saved(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop, shipping_address=WHOLE)

    nowhere = save_order(order_client, order, shipping_country_code="XX", email="no address")
    nul = save_order(order_client, order, shipping_city="a\0b")

    form = nowhere.context["adminform"].form
    assert {"shipping_country_code", "email"} <= form.errors.keys(), form.errors
    assert nul.status_code == 200
    assert Order.objects.get().version == order.version


def test_the_second_editor_sees_a_conflict_and_overwrites_only_on_request(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop, shipping_address=WHOLE)
    opened = get_form(order_client.get(EDIT, order.pk).content, model="order").data
    save_order(order_client, order, shipping_city="Lund")

    second = order_client.http.post(order_client.url(EDIT, order.pk), opened | {"shipping_city": ["Malmö"]})

    assert "changed this in the meantime" in second.content.decode()
    assert Order.objects.get().shipping_address == {**WHOLE, "city": "Lund"}


# Skip the checks of catalog tables, because factories do not update the checked columns.
CHECKS = set(consistency_checks.consistency_checks) - {"lowest prices", "variant quantities"}
LINES, PAGE = "orders_order_lines", "orders_order_change"


def send_form(panel: Panel, order: Order, step: str, **typed: str) -> Response:
    page = panel.get(LINES, order.pk).context
    fields = {"form_key": page["form_key"], "step": step, "seen_version": page["form"]["seen_version"].value()}
    return panel.post(LINES, order.pk, **fields | typed)


def test_a_product_is_found_looked_at_and_added(order_client: Panel, shop: Shop) -> None:
    cup = make_variant(shop, stock=5, sku="CUP-1", product_title="Cup")
    order = make_order(shop, inventory_behaviour="decrement_obeying_policy", financial_status="paid")
    add = {f"add-{cup.pk}": "2", "own_quantity": "1"}

    results = send_form(order_client, order, "find", find="cup-1")
    look = send_form(order_client, order, "look", **add)
    untouched = LineItem.objects.count()
    response = send_form(order_client, order, "save", **add)

    assert [row.variant.pk for row in results.context["form"].variant_rows] == [cup.pk]
    assert look.context["outcome"] == {
        "changes": ["2 × Cup - Blue added"],
        "changed_totals": [
            ("Subtotal", "20.00 USD", "40.00 USD"),
            ("Total", "20.00 USD", "40.00 USD"),
            ("Balance", "0.00 USD", "20.00 USD"),
        ],
        "outstanding": "20.00 USD",
        "owed": "",
    }
    assert (f"add-{cup.pk}", "2") in look.context["sent"]
    assert (untouched, response.status_code, get_available(cup)) == (1, 302, 3)
    assert "Edited: 2 × Cup - Blue added" in order_client.get(PAGE, order.pk).content.decode()
    assert list(consistency_checks.find_differences(CHECKS)) == []


def test_items_are_removed_and_the_balance_is_shown(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop, financial_status="paid")
    none = {f"units-{order.line_items.get().pk}": "0"}

    look = send_form(order_client, order, "look", **none)
    send_form(order_client, order, "save", **none)

    assert look.context["outcome"]["owed"] == "20.00 USD"
    order.refresh_from_db()
    assert order.current_total_price == 0
    assert Event.objects.get(topic="orders/edited").actor == f"staff:{order_client.user.pk}"
    assert list(consistency_checks.find_differences(CHECKS)) == []


def test_removed_items_are_shown_next_to_the_total_for_staff_and_customer(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop)
    line = order.line_items.get()
    before = order_client.get(PAGE, order.pk).context["sums"]

    send_form(order_client, order, "save", **{f"units-{line.pk}": "1"})

    after = [*before[:-1], ("Removed or returned", "-10.00 USD"), ("Current total", "10.00 USD"), before[-1]]
    assert [label for label, _ in before] == ["Subtotal", "Total", "Paid"]
    assert order_client.get(PAGE, order.pk).context["sums"] == after
    order.refresh_from_db()
    assert get_status_page_context(order)["sums"] == [*after, ("Balance due", "10.00 USD")]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({"units": "x"}, "Enter a whole number."),
        ({"units": "1"}, "Enter at least 2: fulfilled or refunded items cannot be removed."),
        ({"discount": "99"}, "Must be less than or equal to 20.00."),
        ({"own_title": "Gift"}, "Enter a price."),
        ({"own_price": "5"}, "Enter a title."),
        ({}, "Nothing was changed."),
        ({"find": "a\0b", "own_title": "a\0b"}, "Null characters are not allowed."),
        ({"seen_version": "1"}, "Someone else changed this order."),
    ],
)
def test_impossible_edits_are_reported(order_client: Panel, shop: Shop, typed: dict[str, str], message: str) -> None:
    order = make_order(shop, fulfillment_status="fulfilled")
    pk = order.line_items.get().pk
    form_fields = {f"{name}-{pk}" if name in {"units", "discount"} else name: value for name, value in typed.items()}

    response = send_form(order_client, order, "save", **form_fields)

    assert response.status_code == 200
    assert message in response.content.decode()
    assert not Event.objects.filter(topic="orders/edited").exists()


def test_the_second_editor_sees_a_conflict(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop)
    version, pk = str(order.version), order.line_items.get().pk
    edit_lines.edit_lines(order, OrderEdit({pk: LineEdit(3)}), actor="app:1", at=order.created_at)

    response = send_form(order_client, order, "save", seen_version=version, **{f"units-{pk}": "1"})

    assert "Someone else changed this order." in response.content.decode()
    order.refresh_from_db()
    assert order.current_total_price == Decimal("30.00")


def test_an_order_that_is_over_says_why_it_is_not_edited(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop)
    order_client.forge("orders_order_close", order.pk)
    pk = order.line_items.get().pk

    response = send_form(order_client, order, "look", **{f"units-{pk}": "1"})

    assert "The order is closed. Reopen it to edit its items." in response.content.decode()
    assert "Edit items…" not in order_client.get(PAGE, order.pk).content.decode()
