"""Staff add, edit, test, resume and delete webhooks of the shop itself."""

import html
import re
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.tenancy.models import App, Installation, Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.webhooks.domain import subscriptions
from apps.webhooks.domain.engine.subscription_health import GONE_REASON
from apps.webhooks.domain.subscriptions import create_staff_subscription
from apps.webhooks.models import Delivery, Health, Subscription
from tests.support import factories
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.html_forms import get_form
from tests.support.webhooks import make_attempt, make_delivery, make_subscription

pytestmark = pytest.mark.usefixtures("in_shop")
LIST, LOG = "webhooks_subscription", "webhooks_delivery"
URI = "https://erp.example.com/hooks"


@pytest.fixture
def webhook_client(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("applications")


def make_staff_subscription(shop: Shop, **values: object) -> Subscription:
    expected = {"topic": "orders/create", "uri": URI, "api_version": "2026-10", **values}
    with shop_scope(shop):
        return create_staff_subscription(shop, expected, actor="system", at=timezone.now())


def disable(subscription: Subscription) -> None:
    subscriptions.disable_subscription(subscription, reason=GONE_REASON, at=timezone.now())
    Health.objects.create(subscription=subscription, last_error="status_410")


def add_webhook(panel: Panel, **values: str) -> Any:
    typed = {"topic": "orders/create", "uri": URI, "format": "json", "api_version": "2026-10", **values}
    return panel.post(f"{LIST}_add", form_key=panel.form_key(f"{LIST}_add"), **typed)


def test_staff_add_a_webhook(webhook_client: Panel, shop: Shop) -> None:
    response = add_webhook(webhook_client)

    subscription = Subscription.objects.get()
    assert response["Location"] == webhook_client.url(f"{LIST}_change", subscription.pk)
    assert (subscription.topic, subscription.uri, subscription.format) == ("orders/create", URI, "json")
    assert (subscription.shop, subscription.app.owner, subscription.app.name) == (shop, shop, "Backoffice")
    assert Event.objects.get(topic="webhooks/create").actor == f"staff:{webhook_client.user.pk}"
    assert "app/installed" not in Event.objects.values_list("topic", flat=True)


def test_the_form_shows_headers_and_payload_of_the_selected_topic(webhook_client: Panel, shop: Shop) -> None:
    form = webhook_client.get(f"{LIST}_add").content.decode()
    topics = re.findall(r'name="topic"\s+value="([^"]+)"', form)
    example = html.unescape(webhook_client.get(f"{LIST}_topics", topic="orders/create").content.decode())

    assert f'data-part-of="topic" data-part-url="{webhook_client.url(f"{LIST}_topics")}"' in form
    assert {webhook_client.get(f"{LIST}_topics", topic=topic).status_code for topic in topics} == {200}
    assert f"{settings.BRAND.capitalize()}-Shop-Domain: {shop.domain}" in example
    assert '\n  "line_items": [\n    {\n' in example
    assert webhook_client.get(f"{LIST}_topics", topic="orders/none").status_code == 404


def test_topics_are_a_list_that_words_and_codes_narrow(webhook_client: Panel) -> None:
    page = webhook_client.get(f"{LIST}_add").content.decode()

    assert '<label data-narrow-text="Order placed orders/create Orders">' in page
    assert re.search(r'type="radio"\s+name="topic"\s+value="orders/create"\s+required>', page)
    assert 'value="shop/redact"' not in page
    typed = {"topic": "orders/create", "uri": "", "form_key": webhook_client.form_key(f"{LIST}_add")}
    again = webhook_client.post(f"{LIST}_add", **typed).content.decode()
    assert re.findall(r'value="([^"]*)"\s+required\s+checked>', again) == ["orders/create"]


def test_fields_and_filter_are_stored(webhook_client: Panel) -> None:
    add_webhook(webhook_client, include_fields="id\n customer.email,total_price", filter="total_price:>=100")

    subscription = Subscription.objects.get()
    assert subscription.include_fields == ["id", "customer.email", "total_price"]
    assert subscription.filter == "total_price:>=100"


def test_all_webhooks_of_staff_share_one_app(webhook_client: Panel) -> None:
    add_webhook(webhook_client)
    add_webhook(webhook_client, topic="products/create")

    assert App.objects.filter(api_key__startswith="shop-").count() == 1
    assert Installation.objects.count() == 1
    assert Subscription.objects.count() == 2


@pytest.mark.parametrize(
    ("values", "field", "message"),
    [
        ({"uri": "http://erp.example.com/"}, "uri", "Protocol http:// is not supported."),
        ({"uri": "https://127.0.0.1/"}, "uri", "internal domain"),
        ({"uri": ""}, "uri", "This field is required"),
        ({"filter": "total_price:("}, "filter", "filter is invalid"),
        ({"topic": "app/uninstalled"}, "topic", "Select a valid choice"),
        ({"topic": "shop/redact"}, "topic", "Select a valid choice"),
        ({"format": "xml"}, "format", "Select a valid choice"),
        ({"api_version": "1999-01"}, "api_version", "Select a valid choice"),
    ],
)
def test_a_wrong_value_is_refused_at_its_field(
    webhook_client: Panel, values: dict[str, str], field: str, message: str
) -> None:
    page = add_webhook(webhook_client, **values)

    assert message in " ".join(page.context["form"].errors[field])
    assert not Subscription.objects.exists()
    assert not App.objects.filter(api_key__startswith="shop-").exists()


def test_the_same_address_twice_is_refused(webhook_client: Panel) -> None:
    add_webhook(webhook_client)
    page = add_webhook(webhook_client)

    assert "has already been taken" in page.content.decode()
    assert Subscription.objects.count() == 1


def test_viewers_add_and_change_nothing(admin_client_with: PanelWith, shop: Shop) -> None:
    viewer = admin_client_with(view_only=["applications"])
    subscription = make_staff_subscription(shop)

    refused = [viewer.get(f"{LIST}_{page}", subscription.pk).status_code for page in ("edit", "delete")]
    posted = [viewer.forge(f"{LIST}_{page}", subscription.pk).status_code for page in ("edit", "delete", "secret")]
    page = viewer.get(f"{LIST}_change", subscription.pk).content.decode()

    assert viewer.get(f"{LIST}_add").status_code == 403
    assert refused + posted == [403] * 5
    assert "Show secret" not in page
    assert "Delete…" not in page


def test_staff_edit_a_webhook(webhook_client: Panel, shop: Shop) -> None:
    subscription = make_staff_subscription(shop)
    form = get_form(webhook_client.get(f"{LIST}_edit", subscription.pk).content, "seen")

    webhook_client.post(f"{LIST}_edit", subscription.pk, **form.data | {"uri": f"{URI}/2", "include_fields": "id"})

    subscription.refresh_from_db()
    assert (subscription.uri, subscription.include_fields) == (f"{URI}/2", ["id"])
    assert Event.objects.get(topic="webhooks/update").changes["uri"] == [URI, f"{URI}/2"]


def test_an_edit_of_a_changed_webhook_is_refused(webhook_client: Panel, shop: Shop) -> None:
    subscription = make_staff_subscription(shop)
    form = get_form(webhook_client.get(f"{LIST}_edit", subscription.pk).content, "seen")
    subscriptions.update_subscription(subscription, {"uri": f"{URI}/3"}, actor="system", at=timezone.now())

    page = webhook_client.post(f"{LIST}_edit", subscription.pk, **form.data | {"uri": f"{URI}/2"})

    subscription.refresh_from_db()
    assert b"changed this in the meantime" in page.content
    assert subscription.uri == f"{URI}/3"


def test_a_new_address_resumes_a_disabled_webhook(webhook_client: Panel, shop: Shop) -> None:
    subscription = make_staff_subscription(shop)
    disable(subscription)
    form = get_form(webhook_client.get(f"{LIST}_edit", subscription.pk).content, "seen").data

    states = []
    for values in ({"include_fields": "id"}, {"uri": f"{URI}/2"}):
        form = get_form(webhook_client.get(f"{LIST}_edit", subscription.pk).content, "seen").data
        webhook_client.post(f"{LIST}_edit", subscription.pk, **form | values)
        subscription.refresh_from_db()
        states.append(subscription.state)

    assert states == ["disabled", "live"]


def test_staff_delete_a_webhook(webhook_client: Panel, shop: Shop) -> None:
    subscription = make_staff_subscription(shop)

    webhook_client.forge(f"{LIST}_delete", subscription.pk)

    assert webhook_client.get(f"{LIST}_change", subscription.pk).status_code == 404
    assert Event.objects.get(topic="webhooks/delete").actor == f"staff:{webhook_client.user.pk}"


@pytest.mark.parametrize("page", ["edit", "delete", "secret"])
def test_webhooks_of_apps_are_changed_by_the_apps_alone(webhook_client: Panel, shop: Shop, page: str) -> None:
    installation = factories.make_installation(shop, ("read_content",))
    subscription = make_subscription(installation, URI)

    response = webhook_client.forge(f"{LIST}_{page}", subscription.pk)

    assert response.status_code == 404
    assert installation.app.api_secret not in response.content.decode()
    subscription.refresh_from_db()
    assert subscription.deleted_at is None


@pytest.mark.parametrize("page", ["change", "edit", "delete", "secret", "resume", "test"])
def test_webhooks_of_other_shops_are_not_found(webhook_client: Panel, other_shop: Shop, page: str) -> None:
    foreign = make_staff_subscription(other_shop)

    assert webhook_client.forge(f"{LIST}_{page}", foreign.pk).status_code == 404


# --- the page of a webhook ---


def test_a_disabled_webhook_says_since_when_and_why(webhook_client: Panel, shop: Shop) -> None:
    subscription = make_staff_subscription(shop)
    disable(subscription)

    page = webhook_client.get(f"{LIST}_change", subscription.pk).content.decode()
    webhook_client.forge(f"{LIST}_resume", subscription.pk)

    assert "<strong>Disabled</strong> since" in page
    assert "The address responded with 410 Gone." in page
    assert "Last error: The address responded with 410" in page
    assert webhook_client.url(f"{LIST}_resume", subscription.pk) in page
    subscription.refresh_from_db()
    assert subscription.state == "live"
    assert "since" not in webhook_client.get(f"{LIST}_change", subscription.pk).content.decode().partition("facts")[0]


def test_recent_deliveries_show_the_response_and_are_resent(webhook_client: Panel, shop: Shop) -> None:
    subscription = make_staff_subscription(shop)
    installation = Installation.objects.get()
    failed = make_delivery(installation, subscription, state="dead", error="status_500", attempts=2)
    make_attempt(failed, number=1, status=404, outcome="status")
    make_attempt(failed, number=2, status=503, outcome="status")

    page = webhook_client.get(f"{LIST}_change", subscription.pk).content.decode()
    webhook_client.forge(f"{LOG}_again", failed.pk)

    (row,) = page.partition('aria-labelledby="latest"')[2].split("<tbody>")[1].split("</tbody>")[0].split("</tr>")[:1]
    assert row.index(">503<") < row.index("Failed")
    assert ">404<" not in row
    assert webhook_client.url(f"{LOG}_again", failed.pk) in row
    failed.refresh_from_db()
    assert failed.state in {"due", "retry"}


def test_a_test_of_a_staff_webhook_is_sent(webhook_client: Panel, shop: Shop) -> None:
    subscription = make_staff_subscription(shop)

    webhook_client.forge(f"{LIST}_test", subscription.pk)

    delivery = Delivery.objects.get()
    assert (delivery.kind, delivery.subscription, delivery.topic) == ("test", subscription, "orders/create")


def test_the_number_of_queries_is_the_same_for_many_deliveries(webhook_client: Panel, shop: Shop) -> None:
    subscription = make_staff_subscription(shop)
    installation = Installation.objects.get()

    webhook_client.get(f"{LIST}_change", subscription.pk)
    counts = []
    for number in (1, 5):
        for _ in range(number):
            make_attempt(make_delivery(installation, subscription))
        with CaptureQueriesContext(connection) as queries:
            webhook_client.get(f"{LIST}_change", subscription.pk)
        counts.append(len(queries))

    assert counts[0] == counts[1]


# --- the signing secret ---


def test_the_secret_is_shown_only_after_a_post(webhook_client: Panel, shop: Shop) -> None:
    subscription = make_staff_subscription(shop)
    secret = subscription.app.api_secret

    pages = [webhook_client.get(f"{LIST}_{page}", subscription.pk).content for page in ("change", "edit")]
    got = webhook_client.get(f"{LIST}_secret", subscription.pk)
    shown = webhook_client.forge(f"{LIST}_secret", subscription.pk)
    unkeyed = webhook_client.post(f"{LIST}_secret", subscription.pk)

    assert all(secret.encode() not in page for page in pages)
    assert (got.status_code, shown.status_code, unkeyed.status_code) == (405, 201, 409)
    assert secret in shown.content.decode()
    assert "X-Platform-Hmac-Sha256" in shown.content.decode()
    assert "no-store" in shown["Cache-Control"]


def test_a_new_secret_replaces_the_old_one(webhook_client: Panel, shop: Shop) -> None:
    subscription = make_staff_subscription(shop)
    old = subscription.app.api_secret

    refused = webhook_client.forge(f"{LIST}_secret", subscription.pk, overlap="9")
    shown = webhook_client.forge(f"{LIST}_secret", subscription.pk, overlap="0")

    new = App.objects.get(pk=subscription.app_id).api_secret
    assert refused.status_code == 302
    assert new != old
    assert new in shown.content.decode()
    assert Event.objects.get(topic="apps/secret").actor == f"staff:{webhook_client.user.pk}"


def test_each_shop_has_another_secret(shop: Shop, other_shop: Shop) -> None:
    own, foreign = make_staff_subscription(shop), make_staff_subscription(other_shop)

    with all_shops_scope():
        assert own.app_id != foreign.app_id
        assert own.app.api_secret != foreign.app.api_secret
