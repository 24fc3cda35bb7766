import json
from typing import Any

import pytest
import shopify
from pyactiveresource.connection import ForbiddenAccess, ResourceNotFound, UnauthorizedAccess

from apps.core.tenancy.models import Shop
from tests.client.resources import change, create, save
from tests.client.test_catalog import BAG
from tests.samples.graphql import CREATE
from tests.support import factories
from tests.support.servers.live import Connect
from tests.support.types import JsonObject

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

SRC = "https://scripts.example/a.js"


def test_session_reads_its_shop_and_scopes(api_client_factory: Connect, server_shop: Shop) -> None:
    api_client_factory("write_script_tags", "read_products")

    shop = shopify.Shop.current()

    assert (shop.name, shop.myshopify_domain, shop.iana_timezone) == (
        "Client Shop",
        server_shop.domain,
        "Europe/Berlin",
    )
    handles = [scope.handle for scope in shopify.AccessScope.find()]
    assert handles == ["read_products", "read_script_tags", "write_script_tags"]


def test_script_tags_are_made_found_changed_and_deleted(all_scopes: None) -> None:
    tag = create(shopify.ScriptTag, src=SRC, event="onload")
    changed = change(tag, display_scope="all")

    assert tag.display_scope == "online_store"
    assert (changed.display_scope, changed.src) == ("all", SRC)
    assert shopify.ScriptTag.count() == 1

    changed.destroy()

    assert shopify.ScriptTag.find() == []


def test_lists_are_paged_with_the_clients_own_cursor(all_scopes: None) -> None:
    ids = [shopify.ScriptTag.create({"src": f"{SRC}?{n}", "event": "onload"}).id for n in range(5)]

    first = shopify.ScriptTag.find(limit=2)
    second = first.next_page()
    third = second.next_page()

    assert [[tag.id for tag in page] for page in (first, second, third)] == [ids[:2], ids[2:4], ids[4:]]
    assert not third.has_next_page()
    assert [tag.id for tag in third.previous_page()] == ids[2:4]
    assert [tag.id for tag in shopify.ScriptTag.find(since_id=ids[2])] == ids[3:]
    assert [tag.id for tag in shopify.ScriptTag.find(src=f"{SRC}?3")] == [ids[3]]


def test_refusals_reach_the_client_as_errors_of_the_object(all_scopes: None) -> None:
    tag = shopify.ScriptTag.create({"src": "http://scripts.example/a.js"})

    assert not tag.id
    assert sorted(tag.errors.full_messages()) == ["can't be blank", "is invalid", "src must be secure (HTTPS)"]


def test_missing_objects_and_scopes_raise_errors_of_their_own(api_client_factory: Connect) -> None:
    api_client_factory("read_script_tags")
    with pytest.raises(ResourceNotFound):
        shopify.ScriptTag.find(999_999)

    api_client_factory("read_products")
    with pytest.raises(ForbiddenAccess):
        shopify.ScriptTag.find()


def test_an_uninstalled_app_is_shut_out(api_client_factory: Connect) -> None:
    api_client_factory("write_script_tags")
    shopify.ScriptTag.create({"src": SRC, "event": "onload"})

    shopify.ApiPermission.delete()

    with pytest.raises(UnauthorizedAccess):
        shopify.Shop.current()


def test_the_client_reads_the_call_limit(all_scopes: None) -> None:
    shopify.Shop.current()

    assert (shopify.Limits.credit_used(), shopify.Limits.credit_left(), shopify.Limits.credit_limit()) == (1, 39, 40)
    assert not shopify.Limits.credit_maxed()


def test_the_staff_is_read(api_client_factory: Connect, server_shop: Shop) -> None:
    Shop.objects.filter(pk=server_shop.pk).update(plan=Shop.Plan.PREMIUM)
    owner = factories.make_member(server_shop, owner=True, first_name="Ada")
    other = factories.make_member(server_shop, "orders")
    api_client_factory("read_users")

    first = shopify.User.find(limit=1)
    second = first.next_page()

    assert [user.id for user in (*first, *second)] == [owner.pk, other.pk]
    assert shopify.User.find(other.pk).permissions == ["orders"]
    assert (shopify.User.current().id, shopify.User.current().first_name) == (owner.pk, "Ada")


ADDRESS = "https://hooks.example/orders"
LIST = "{ webhookSubscriptions(first: 5) { edges { node { id topic } } } }"


def test_subscriptions_are_made_found_changed_counted_and_deleted(all_scopes: None) -> None:
    webhook = create(shopify.Webhook, topic="orders/create", address=ADDRESS, format="json")
    changed = change(webhook, address=f"{ADDRESS}/2")

    assert (changed.topic, changed.address, changed.format) == ("orders/create", f"{ADDRESS}/2", "json")
    assert [row.id for row in shopify.Webhook.find(topic="orders/create")] == [webhook.id]
    assert shopify.Webhook.count() == 1

    changed.destroy()

    with pytest.raises(ResourceNotFound):
        shopify.Webhook.find(webhook.id)


def test_subscriptions_are_made_and_listed_over_graphql(all_scopes: None) -> None:
    variables = {"topic": "ORDERS_CREATE", "webhookSubscription": {"uri": ADDRESS, "format": "JSON"}}

    result = json.loads(shopify.GraphQL().execute(CREATE, variables))["data"]["webhookSubscriptionCreate"]
    edges = json.loads(shopify.GraphQL().execute(LIST))["data"]["webhookSubscriptions"]["edges"]

    assert (result["userErrors"], result["webhookSubscription"]["uri"]) == ([], ADDRESS)
    assert [(edge["node"]["id"], edge["node"]["topic"]) for edge in edges] == [
        (result["webhookSubscription"]["id"], "ORDERS_CREATE")
    ]


def build_metafield(**values: object) -> shopify.Metafield:
    return shopify.Metafield({"namespace": "care", "key": "washing", "type": "single_line_text_field", **values})


def create_owner(kind: str) -> Any:
    values: JsonObject = {
        "Article": {"title": "Snow"},
        "Customer": {"email": "ada@example.com"},
        "Order": {"line_items": [{"title": "Mug", "price": "10.00", "quantity": 1}]},
    }
    if kind == "Variant":
        return create(shopify.Product, **BAG).variants[0]
    if kind == "Article":
        values["Article"]["blog_id"] = create(shopify.Blog, title="News").id
    return create(getattr(shopify, kind), **values.get(kind, {"title": "Kitchen"}))


@pytest.mark.parametrize("kind", ["Article", "Blog", "CustomCollection", "Customer", "Order", "Product", "Variant"])
def test_metafields_are_added_changed_and_deleted(all_scopes: None, kind: str) -> None:
    owner = create_owner(kind)

    added = owner.add_metafield(build_metafield(value="cold"))
    assert added.errors.full_messages() == []
    (metafield,) = owner.metafields()
    metafield.value = "by hand"
    save(metafield)
    (changed,) = owner.metafields(namespace="care")

    assert (changed.id, changed.value, changed.owner_id, changed.type) == (
        added.id,
        "by hand",
        owner.id,
        "single_line_text_field",
    )
    assert owner.metafields_count() == 1

    changed.destroy()

    assert owner.metafields() == []


def test_metafields_of_an_image_are_found_by_their_owner(all_scopes: None) -> None:
    image = create(shopify.Product, **BAG).images[0]

    metafield = build_metafield(value="print", owner_id=image.id, owner_resource="product_image")
    save(metafield)

    assert [(row.id, row.value) for row in image.metafields()] == [(metafield.id, "print")]


def test_metafields_of_the_shop_are_its_own(all_scopes: None) -> None:
    create_owner("Product").add_metafield(build_metafield(value="cold"))
    shop = shopify.Shop.current()

    shop.add_metafield(build_metafield(type="number_integer", value=700))

    assert [row.value for row in shop.metafields()] == [700]
