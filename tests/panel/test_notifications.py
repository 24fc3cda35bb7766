"""Tests of the page *My notifications* and of the counts that the panel polls."""

import json
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from apps.core.tenancy.models import Membership, Shop
from apps.core.tenancy.scope import shop_scope
from apps.notifications.domain.recording import LOW_STOCK, NEW_ORDER
from apps.notifications.models import Notification, Preference, SeenMark
from tests.support.api_client import Response
from tests.support.factories.orders import make_order
from tests.support.notifications import choose
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.html_forms import get_form

CHANNELS = ("panel", "sound", "browser", "email")


def get_kinds(panel: Panel) -> dict[str, dict[str, object]]:
    return {entry["name"]: entry for entry in json.loads(panel.get("notification_counts").content)["kinds"]}


def get_counts(panel: Panel) -> dict[str, object]:
    return {name: entry["count"] for name, entry in get_kinds(panel).items()}


def see(panel: Panel, kind: str = NEW_ORDER, **values: object) -> Response:
    return panel.post("notifications_seen", **{"kind": kind, "age": 0, **values})


def get_choices(panel: Panel) -> dict[str, set[str]]:
    with shop_scope(panel.shop):
        rows = Preference.rows().filter(member__user=panel.user)
        return {row.kind: {channel for channel in CHANNELS if getattr(row, channel)} for row in rows}


def test_counts_follow_orders_until_the_list_is_opened(order_client: Panel, shop: Shop) -> None:
    assert get_counts(order_client) == {NEW_ORDER: 0}
    order = make_order(shop)

    entry = get_kinds(order_client)[NEW_ORDER]
    with shop_scope(shop):
        latest = Notification.objects.get(subject_id=order.pk).pk
    assert entry == {
        "name": NEW_ORDER,
        "count": 1,
        "number": "1",
        "latest": latest,
        "text": "1 new order",
        "path": order_client.url("orders_order_changelist"),
        "link": order_client.url("orders_order_changelist"),
        "panel": True,
        "sound": False,
        "browser": False,
    }
    assert see(order_client).status_code == 204
    assert get_counts(order_client) == {NEW_ORDER: 0}


def test_unchanged_counts_are_not_sent_again(order_client: Panel, shop: Shop) -> None:
    def poll(etag: str) -> Response:
        return order_client.http.get(order_client.url("notification_counts"), HTTP_IF_NONE_MATCH=etag)

    first = order_client.get("notification_counts")
    assert "no-store" in first["Cache-Control"]
    same = poll(first["ETag"])
    assert (same.status_code, same.content, same["ETag"]) == (304, b"", first["ETag"])
    make_order(shop)
    changed = poll(first["ETag"])

    assert (changed.status_code, changed.json()["kinds"][0]["count"]) == (200, 1)
    assert changed["ETag"] != first["ETag"]


def test_members_only_see_kinds_that_they_may_open(admin_client_with: PanelWith, shop: Shop) -> None:
    panels = [admin_client_with(*names) for names in (("orders",), ("products",), ("customers",))]
    make_order(shop)

    assert [set(get_counts(panel)) for panel in panels] == [{NEW_ORDER}, {LOW_STOCK}, set()]
    assert [see(panel).status_code for panel in panels] == [204, 404, 404]
    assert see(panels[0], "unknown").status_code == 404


def test_view_only_access_is_enough(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with(view_only=["orders"])
    make_order(shop)

    assert get_counts(panel) == {NEW_ORDER: 1}
    # A permission that ends takes the counts with it.
    Membership._base_manager.filter(user=panel.user).update(view_only=[])
    assert get_counts(panel) == {}


@pytest.mark.parametrize("age", ["", "-1", "1.5", "x", "9" * 30, "²"])
def test_a_wrong_age_is_refused(order_client: Panel, shop: Shop, age: str) -> None:
    make_order(shop)

    assert see(order_client, age=age).status_code == 400
    with shop_scope(shop):
        assert not SeenMark.objects.exists()


def test_orders_newer_than_the_page_stay_unseen(order_client: Panel, shop: Shop) -> None:
    make_order(shop)
    with shop_scope(shop):
        Notification.objects.update(created_at=timezone.now() - timedelta(seconds=5))
        Membership.objects.update(created_at=timezone.now() - timedelta(minutes=1))
    make_order(shop)

    assert see(order_client, age=4000).status_code == 204
    assert get_counts(order_client) == {NEW_ORDER: 1}
    # A page can stay open for weeks.
    assert see(order_client, age=10**10).status_code == 204


def test_seen_needs_post(order_client: Panel) -> None:
    assert order_client.get("notifications_seen").status_code == 405
    assert order_client.post("notification_counts").status_code == 405


def test_shops_do_not_mix(order_client: Panel, shop: Shop, other_shop: Shop) -> None:
    with shop_scope(other_shop):
        Membership.objects.create(shop=other_shop, user=order_client.user, permissions=["orders"])
    elsewhere = Panel(order_client.user, other_shop)
    make_order(other_shop)

    assert (get_counts(order_client), get_counts(elsewhere)) == ({NEW_ORDER: 0}, {NEW_ORDER: 1})
    see(order_client)
    assert get_counts(elsewhere) == {NEW_ORDER: 1}
    order_client.forge("notifications", **{"new_order-email": "on"})
    assert (get_choices(order_client), get_choices(elsewhere)) == ({NEW_ORDER: {"email"}}, {})


def test_polls_take_the_same_number_of_queries(owner_client: Panel, shop: Shop) -> None:
    def measure() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert owner_client.get("notification_counts").status_code == 200
        return len(queries)

    owner_client.get("notification_counts")
    before = measure()
    for _ in range(3):
        make_order(shop)
    with shop_scope(shop):
        Notification.objects.bulk_create(
            [Notification(shop=shop, kind=LOW_STOCK, subject_id=pk, actor="app:1") for pk in range(300)]
        )
    see(owner_client)

    assert measure() == before
    assert before <= 16


def test_channels_that_are_off_are_not_counted(order_client: Panel, shop: Shop) -> None:
    make_order(shop)
    choose(order_client.user, shop, new_order="email")
    assert get_kinds(order_client) == {}
    choose(order_client.user, shop, new_order="sound")

    entry = get_kinds(order_client)[NEW_ORDER]
    assert (entry["panel"], entry["sound"], entry["count"]) == (False, True, 1)


def test_the_page_saves_the_choice_of_each_member(admin_client_with: PanelWith) -> None:
    panel, colleague = admin_client_with("orders", "products"), admin_client_with("orders")
    form = get_form(panel.get("notifications").content, "new_order-panel")
    assert {name: value for name, value in form.data.items() if "-" in name} == {
        "new_order-panel": ["on"],
        "low_stock-panel": ["on"],
    }

    data = form.data | {"new_order-email": ["on"], "new_order-sound": ["on"]}
    del data["low_stock-panel"]
    response = panel.http.post(panel.url("notifications"), data, follow=True)

    assert "Your notifications were saved." in response.content.decode()
    assert get_choices(panel) == {NEW_ORDER: {"panel", "sound", "email"}, LOW_STOCK: set()}
    assert get_choices(colleague) == {}
    again = get_form(response.content, "new_order-email").data
    assert {name for name in again if "-" in name} == {"new_order-panel", "new_order-sound", "new_order-email"}


def test_a_forged_kind_is_not_saved(order_client: Panel) -> None:
    order_client.forge(
        "notifications", **{"failed_webhook-email": "on", "new_order-email": "on", "nothing-email": "on"}
    )

    assert get_choices(order_client) == {NEW_ORDER: {"email"}}


def test_the_form_needs_its_key(order_client: Panel) -> None:
    assert order_client.post("notifications", **{"new_order-email": "on"}).status_code == 409
    assert get_choices(order_client) == {}


def test_the_account_menu_links_to_the_page(admin_client_with: PanelWith) -> None:
    panel = admin_client_with()
    home = panel.get().content.decode()

    assert f'href="{panel.url("notifications")}"' in home
    assert "My notifications" in home
    assert f'data-counts="{panel.url("notification_counts")}"' in home
    page = panel.get("notifications").content.decode()
    assert "Your permissions include none of the pages" in page
    assert get_counts(panel) == {}


def test_an_operator_gets_no_notifications(operator_client: Panel, shop: Shop) -> None:
    make_order(shop)

    assert "You are not a staff member of this shop" in operator_client.get("notifications").content.decode()
    assert get_counts(operator_client) == {}
    assert see(operator_client).status_code == 204
    assert operator_client.forge("notifications", **{"new_order-email": "on"}).status_code == 200
    with shop_scope(shop):
        assert not Preference.objects.exists()
        assert not SeenMark.objects.exists()


def test_the_page_says_why_no_emails_are_sent(order_client: Panel, shop: Shop, settings: Settings) -> None:
    missing, copy = "This installation can't send emails yet.", "copies do not send emails"

    def get_page() -> str:
        return order_client.get("notifications").content.decode()

    assert not any(text in get_page() for text in (missing, copy))
    settings.EMAIL_BACKEND = "backoffice.email_backend.DemoEmailBackend"
    assert missing in get_page()
    Shop.objects.filter(pk=shop.pk).update(copied_from="original.example")
    assert "This shop is a copy of original.example" in " ".join(get_page().split())


def test_logged_out_users_get_no_counts(order_client: Panel, shop: Shop) -> None:
    order_client.http.logout()

    response = order_client.http.get(order_client.url("notification_counts"))
    assert (response.status_code, "/accounts/login/" in response["Location"]) == (302, True)
