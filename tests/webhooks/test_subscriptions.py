import time
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.content.domain.blogs import create_blog
from apps.core.events.models import Event
from apps.core.search_query.predicate import MISSING_FIELD
from apps.core.tenancy import subscriber_version
from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.metafields.domain import write
from apps.shops.domain import app_installation
from apps.webhooks.domain import subscriptions
from apps.webhooks.domain.errors import SubscriptionRefused
from apps.webhooks.models import Pending, Subscription
from apps.webhooks.models.subscriptions import decode_warnings
from tests.support import factories
from tests.support.api_client import ApiClient, ClientWith, Response, get_errors
from tests.support.factories.catalog import make_product
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

NOT_INCLUDED = "The specified filter is invalid, please ensure that include_fields has the field(s) you filter on"
NAME_CHARACTERS = "alphanumeric characters, underscores, and hyphens"
ENDS = "The query ends where a term is expected."
NO_XML = "'xml' is invalid for this webhook topic. Allowed formats: json"
ADDRESS = "https://app.example/hooks"
TOPIC = "products/update"


def send_subscription(api: ApiClient, **values: Any) -> Response:
    return api.post("webhooks.json", {"webhook": {"address": ADDRESS, "topic": TOPIC, **values}})


def post_subscription(api: ApiClient, **values: Any) -> JsonObject:
    response = send_subscription(api, **values)
    assert response.status_code == 201, response.content
    return response.json()["webhook"]


def create_subscription(installation: Installation, **values: Any) -> Subscription:
    row = {"uri": ADDRESS, "topic": TOPIC, "api_version": "2026-10", **values}
    return subscriptions.create_subscription(installation, row, actor="system", at=timezone.now())


def test_the_life_of_a_subscription(api: ApiClient) -> None:
    created = post_subscription(api, fields=["id", "title"], metafield_namespaces=["care"])
    path = f"webhooks/{created['id']}.json"

    changed = api.put(path, {"webhook": {**created, "address": "https://app.example/other"}})
    response = api.get("webhooks.json", topic=TOPIC)
    counted = api.get("webhooks/count.json", topic=TOPIC).json()
    loaded_response = api.get(path)
    deleted_response = api.delete(path)

    assert (created["api_version"], created["format"], created["warnings"]) == ("2026-10", "json", [])
    assert changed.json()["webhook"]["address"] == "https://app.example/other"
    assert [row["address"] for row in response.json()["webhooks"]] == ["https://app.example/other"]
    assert counted == {"count": 1}
    assert (deleted_response.status_code, api.get(path).status_code) == (200, 404)
    assert_fits("webhook", "POST /webhooks.json", {"webhook": created})
    assert_fits("webhook", "PUT /webhooks/{id}.json", changed.json())
    assert_fits("webhook", "GET /webhooks/{id}.json", loaded_response.json())
    assert_fits("webhook", "GET /webhooks.json", response.json())
    assert_fits("webhook", "GET /webhooks/count.json", counted)
    with shop_scope(api.installation.shop):
        events = Event.objects.filter(topic__startswith="webhooks/").order_by("id")
        assert [event.topic for event in events] == ["webhooks/create", "webhooks/update", "webhooks/delete"]


INTERNAL = ("127.0.0.1/hooks", "2130706433/hooks", "[::ffff:169.254.169.254]/", "localhost/hooks", "acme.example/hooks")
ADDRESSES = {
    **dict.fromkeys(("", "   "), "can't be blank"),
    **dict.fromkeys(("hello", "https://"), "is not a valid URL"),
    **{f"https://{address}": "cannot be a Platform or an internal domain" for address in INTERNAL},
    **{f"{scheme}://app.example/hooks": f"protocol {scheme}:// is not supported" for scheme in ("http", "ftp", "amqp")},
    "arn:aws:events:eu-west-1::event-source/aws.partner/x/1/y": "protocol arn:// is not supported",
    "https://me:pw@app.example/": "must not contain a user name or password",
    "https://app.example/#top": "must not contain a fragment",
    "https://app.example:22/": "must use port 80, 443, or 1024 and above",
    f"https://app.example/{'a' * 4096}": "is too long (maximum is 4096 bytes)",
}


def test_addresses_are_refused_in_the_words_that_clients_know(shop: Shop) -> None:
    installation = factories.make_installation(shop)
    messages_by_field: dict[str, str] = {}
    for address in ADDRESSES:
        with pytest.raises(SubscriptionRefused) as error, shop_scope(shop):
            create_subscription(installation, uri=address)
        messages_by_field[address] = error.value.errors["uri"][0]
        assert error.value.full_messages == [("uri", f"Address {messages_by_field[address]}")]

    assert messages_by_field == ADDRESSES


def test_a_host_that_may_be_reached_takes_plain_http_too(api: ApiClient) -> None:
    with override_settings(OUTGOING_ALLOW=["127.0.0.1"]):
        assert post_subscription(api, address="http://127.0.0.1:8123/hooks")["address"] == "http://127.0.0.1:8123/hooks"


@pytest.mark.parametrize(
    ("values", "errors"),
    [
        ({"topic": ""}, {"topic": ["can't be blank"]}),
        ({"topic": "products/upd"}, {"topic": ["is not included in the list"]}),
        ({"topic": "staff/update"}, {"topic": ["is not included in the list"]}),
        ({"topic": "webhooks/create"}, {"topic": ["is not included in the list"]}),
        ({"topic": "shop/redact"}, {"topic": ["can only be subscribed to in the app's configuration file"]}),
        ({"format": "xml"}, {"format": [NO_XML]}),
        ({"format": "yaml"}, {"format": ["is not included in the list"]}),
        ({"name": "a" * 51}, {"name": ["is too long (maximum is 50 characters)"]}),
        ({"name": "two words"}, {"name": [f"name field can only contain {NAME_CHARACTERS}"]}),
        ({"filter": "Music"}, {"filter": [f"{MISSING_FIELD} (position 0)"]}),
        ({"filter": "id:1 AND"}, {"filter": [f"The specified filter is invalid: {ENDS} (position 8)"]}),
        (
            {"filter": "id:1 AND variants.price:>5 AND title:x", "fields": ["id", "variants"]},
            {"filter": [f"{NOT_INCLUDED}: title"]},
        ),
        ({"fields": "id"}, {"fields": ["is invalid"]}),
        ({"fields": ["a" * 256]}, {"fields": ["is too long (maximum is 255 characters)"]}),
        ({"metafield_namespaces": [1]}, {"metafield_namespaces": ["is invalid"]}),
        ({"address": "nowhere", "format": "xml"}, {"address": ["is not a valid URL"], "format": [NO_XML]}),
    ],
)
def test_values_are_refused_all_at_once(api: ApiClient, values: JsonObject, errors: Any) -> None:
    assert get_errors(send_subscription(api, **values)) == errors
    assert not Subscription.objects.exists()


def test_the_same_subscription_and_the_same_name_are_taken(api: ApiClient, client_with: ClientWith) -> None:
    first = post_subscription(api, filter="id:1", name="mine")
    same, same_name = send_subscription(api, filter=" id:1 "), send_subscription(api, name="mine")
    other_filter = post_subscription(api, filter="id:2")
    onto = api.put(f"webhooks/{other_filter['id']}.json", {"webhook": {"filter": "id:1"}})
    post_subscription(client_with("read_products", name="another"), filter="id:1", name="mine")
    api.delete(f"webhooks/{first['id']}.json")
    once_more = post_subscription(api, filter="id:1", name="mine")

    errors = {"address": ["for this topic has already been taken"]}
    assert (get_errors(same), get_errors(onto)) == (errors, errors)
    assert get_errors(same_name) == {"name": ["already exists, no duplicate allowed"]}
    assert once_more["id"] != first["id"]


def test_the_topic_stays(api: ApiClient) -> None:
    created = post_subscription(api)

    response = api.put(f"webhooks/{created['id']}.json", {"webhook": {"topic": "products/create"}})

    assert get_errors(response) == {"topic": ["cannot be changed"]}


def test_an_update_that_changes_nothing_moves_nothing(api: ApiClient, shop: Shop) -> None:
    created = post_subscription(api, fields=["id"], name="mine")
    number = Shop.objects.get(pk=shop.pk).listening_version

    response = api.put(f"webhooks/{created['id']}.json", {"webhook": created})

    assert response.json()["webhook"] == created
    assert Shop.objects.get(pk=shop.pk).listening_version == number


def test_the_scope_of_the_topic_is_needed(client_with: ClientWith) -> None:
    reader = client_with("read_products")

    response = send_subscription(reader, topic="orders/create")

    assert response.status_code == 403
    assert response.json() == {"errors": "[API] This action requires merchant approval for read_orders scope."}
    assert post_subscription(reader)["topic"] == TOPIC
    assert post_subscription(reader, topic="shop/update")["topic"] == "shop/update"


def test_another_apps_subscriptions_do_not_exist(api: ApiClient, client_with: ClientWith) -> None:
    path = f"webhooks/{post_subscription(api)['id']}.json"
    other = client_with("read_products", name="another")

    assert other.get("webhooks.json").json() == {"webhooks": []}
    assert [other.get(path).status_code, other.put(path, {"webhook": {}}).status_code] == [404, 404]
    assert other.delete(path).status_code == 404


FORESEEN: dict[str, list[str]] = {
    "titel:x": ["titel is not in the payload.", "This filter never matches."],
    "variants.prise:>5": ["variants.prise is not in the payload.", "This filter never matches."],
    "id:abc": ['id is a number, but "abc" is not.', "This filter never matches."],
    "status:activ": ['status is never "activ".', "This filter never matches."],
    "status:activ OR title:x": ['status is never "activ".'],
    "-invalid_field:*": ["invalid_field is not in the payload."],
    "variants:x": ["variants is an object. Use one of its fields.", "This filter never matches."],
    "variants.taxable:yes": ["variants.taxable can only be true or false.", "This filter never matches."],
    "created_at:>soon": ['created_at is a date, but "soon" is not.', "This filter never matches."],
    "title:Album* AND variants.price:>=10.00 AND created_at:>2026-01-01 AND status:act*": [],
    "tags:x AND variants.inventory_quantity:<5 AND options.name:Size AND image.src:*": [],
}


def test_filters_that_never_match_are_reported(shop: Shop) -> None:
    installation = factories.make_installation(shop)
    messages_by_field: dict[str, list[str]] = {}
    with shop_scope(shop):
        for text in FORESEEN:
            row = create_subscription(installation, filter=text)
            messages_by_field[text] = [warning["message"] for warning in decode_warnings(row.warnings)]
        row = create_subscription(installation, include_fields=["id", "prise"])

    assert messages_by_field == FORESEEN
    [warning] = decode_warnings(row.warnings)
    assert warning == {"field": "include_fields", "message": "prise is not in the payload."}


def get_pending_events(shop: Shop) -> list[tuple[str, list[str]]]:
    with shop_scope(shop):
        rows = Pending.objects.select_related("event").order_by("id")
        return [(row.event.topic, sorted(row.event.payload or {})) for row in rows]


def test_pending_events_are_only_those_subscribed_to(api: ApiClient, shop: Shop) -> None:
    api.post("blogs.json", {"blog": {"title": "Before"}})
    created = post_subscription(api, topic="blogs/create")
    post_subscription(api.at("2025-01"), topic="blogs/create", address="https://app.example/older")
    api.post("blogs.json", {"blog": {"title": "Heard"}})
    api.delete(f"webhooks/{created['id']}.json")
    api.post("blogs.json", {"blog": {"title": "Heard in one version"}})

    assert get_pending_events(shop) == [("blogs/create", ["2025-01", "2026-10"]), ("blogs/create", ["2025-01"])]


def test_a_shop_without_subscriptions_costs_no_query(api: ApiClient, shop: Shop) -> None:
    api.post("blogs.json", {"blog": {"title": "Warm"}})
    with CaptureQueriesContext(connection) as captured:
        api.post("blogs.json", {"blog": {"title": "One"}})
    alone = [query["sql"] for query in captured]
    post_subscription(api, topic="blogs/create")
    api.post("blogs.json", {"blog": {"title": "Warm"}})
    with CaptureQueriesContext(connection) as captured:
        api.post("blogs.json", {"blog": {"title": "Two"}})
    sqls = [query["sql"] for query in captured]

    assert not [sql for sql in alone if "webhooks_" in sql]
    assert [sql.split()[2] for sql in sqls if "webhooks_" in sql] == ['"webhooks_pending"']
    # At most two additional statements read rows for the payload and insert the pending event.
    assert len(sqls) <= len(alone) + 2


def test_long_work_hears_of_a_subscription_within_a_second(
    api: ApiClient, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriber_version, "FRESH_SECONDS", 1.0)
    stale = Shop.objects.get(pk=shop.pk)
    stale.listening_read_at = time.monotonic() - 1.01
    post_subscription(api, topic="blogs/create")

    with shop_scope(stale):
        create_blog({"title": "Heard"}, actor="system", at=timezone.now())

    assert get_pending_events(shop) == [("blogs/create", ["2026-10"])]


def test_a_rolled_back_change_is_not_sent(api: ApiClient, shop: Shop) -> None:
    post_subscription(api, topic="blogs/create")

    def fail() -> None:
        create_blog({"title": "Never"}, actor="system", at=timezone.now())
        assert Pending.objects.count() == 1
        raise ZeroDivisionError

    with shop_scope(Shop.objects.get(pk=shop.pk)):
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            fail()
        assert not Pending.objects.exists()


def test_a_subscription_that_is_rolled_back_listens_to_nothing(api: ApiClient, shop: Shop) -> None:
    def fail() -> None:
        create_subscription(api.installation, topic="blogs/create")
        create_blog({"title": "Never"}, actor="system", at=timezone.now())
        raise ZeroDivisionError

    with shop_scope(api.installation.shop), pytest.raises(ZeroDivisionError), transaction.atomic():
        fail()
    api.post("blogs.json", {"blog": {"title": "Unheard"}})

    assert get_pending_events(shop) == []


def test_configured_subscriptions_hold_for_every_shop(api: ApiClient, shop: Shop, other_shop: Shop) -> None:
    app = api.installation.app
    values = {"uri": ADDRESS, "topic": "blogs/create", "api_version": "2026-10", "name": "all"}
    configured = subscriptions.create_configured_subscription(app, values, at=timezone.now())
    subscriptions.create_configured_subscription(app, {**values, "topic": "shop/redact"}, at=timezone.now())
    api.post("blogs.json", {"blog": {"title": "Heard"}})

    def blog_elsewhere() -> None:
        with shop_scope(Shop.objects.get(pk=other_shop.pk)):
            create_blog({"title": "Elsewhere"}, actor="system", at=timezone.now())

    blog_elsewhere()
    unheard = get_pending_events(other_shop)
    app_installation.install_app(app, other_shop, scopes=["read_content"], actor="system", at=timezone.now())
    blog_elsewhere()
    received = get_pending_events(other_shop)
    app_installation.install_app(app, other_shop, scopes=["read_products"], actor="system", at=timezone.now())
    blog_elsewhere()

    assert get_pending_events(shop) == [("blogs/create", ["2026-10"])]
    assert (unheard, received) == ([], [("blogs/create", ["2026-10"])])
    assert get_pending_events(other_shop) == received, "the scope is gone"
    assert api.get("webhooks.json").json() == {"webhooks": []}
    assert api.get(f"webhooks/{configured.pk}.json").status_code == 404
    with pytest.raises(SubscriptionRefused) as error:
        subscriptions.create_configured_subscription(app, {**values, "name": "again"}, at=timezone.now())
    assert error.value.full_messages == [("uri", "Address for this topic has already been taken")]


def test_uninstalling_ends_subscriptions_and_is_reported(api: ApiClient, shop: Shop) -> None:
    post_subscription(api, topic="blogs/create")
    post_subscription(api, topic="app/uninstalled")

    with all_shops_scope():
        installation = Installation.objects.get(pk=api.installation.pk)
    app_installation.uninstall_app(installation, actor="system", at=timezone.now())
    with shop_scope(Shop.objects.get(pk=shop.pk)):
        create_blog({"title": "Unheard"}, actor="system", at=timezone.now())

    assert get_pending_events(shop) == [("app/uninstalled", ["2026-10"])]
    with all_shops_scope():
        assert set(Subscription.objects.values_list("removed_by_uninstalling", flat=True)) == {True}
        assert not subscriptions.get_undeleted_subscriptions().exists()


def test_metafields_go_along_where_they_are_wanted(api: ApiClient, shop: Shop) -> None:
    post_subscription(api, metafield_namespaces=["care"])
    rows = [
        {"namespace": "care", "key": "wash", "value": "Cold", "type": "single_line_text_field"},
        {"namespace": "other", "key": "x", "value": "y", "type": "single_line_text_field"},
    ]
    with shop_scope(shop):
        product = make_product("Mug", prices=("1.00",))
        write.set_metafields(product, rows, actor="system", at=timezone.now())

    api.put(f"products/{product.pk}.json", {"product": {"title": "Cup"}})

    with shop_scope(shop):
        (row,) = Pending.objects.filter(event__topic=TOPIC)
    metafields = (row.metafields or {})["2026-10"]
    assert [(metafield["namespace"], metafield["value"]) for metafield in metafields] == [("care", "Cold")]


def test_the_database_holds_what_the_service_promises(shop: Shop) -> None:
    installation = factories.make_installation(shop)
    with shop_scope(shop):
        row = create_subscription(installation, name="mine")
        for name in ("name", "key_digest"):
            copy = Subscription.objects.get(pk=row.pk)
            copy.pk, copy._state.adding = None, True
            setattr(copy, name, "other")
            with pytest.raises(IntegrityError), transaction.atomic():
                copy.save()
        for change in ({"origin": "config"}, {"max_in_flight": 51}):
            with pytest.raises(IntegrityError), transaction.atomic():
                Subscription.objects.filter(pk=row.pk).update(**change)
