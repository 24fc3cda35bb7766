"""Tests that the public client works: session, pages, errors, users, webhooks and metafields."""

import json

import pytest
import shopify
from pyactiveresource.connection import ForbiddenAccess, ResourceNotFound, UnauthorizedAccess

from apps.core.tenancy.models import Shop
from tests.client.test_catalog import BAG
from tests.support import factories
from tests.support.servers.live import Connect

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

SRC = "https://scripts.example/a.js"


def test_session_reads_its_shop(api_client_factory: Connect, server_shop: Shop) -> None:
    api_client_factory()

    shop = shopify.Shop.current()

    assert shop.name == "Client Shop"
    assert shop.myshopify_domain == server_shop.domain
    assert shop.iana_timezone == "Europe/Berlin"


def test_session_reads_its_scopes(api_client_factory: Connect) -> None:
    api_client_factory("write_script_tags", "read_products")

    scopes = [scope.handle for scope in shopify.AccessScope.find()]

    assert scopes == ["read_products", "write_script_tags"]


def test_script_tags_are_made_found_changed_and_deleted(api_client_factory: Connect) -> None:
    api_client_factory()

    tag = shopify.ScriptTag.create({"src": SRC, "event": "onload"})
    script_tag = shopify.ScriptTag.find(tag.id)
    script_tag.display_scope = "all"
    saved = script_tag.save()
    second_script_tag = shopify.ScriptTag.find(tag.id)
    count = shopify.ScriptTag.count()
    second_script_tag.destroy()

    assert tag.display_scope == "online_store"
    assert saved
    assert second_script_tag.display_scope == "all"
    assert second_script_tag.src == SRC
    assert count == 1
    assert shopify.ScriptTag.find() == []


def test_lists_are_paged_with_the_clients_own_cursor(api_client_factory: Connect) -> None:
    api_client_factory()
    ids = [shopify.ScriptTag.create({"src": f"{SRC}?{n}", "event": "onload"}).id for n in range(5)]

    first = shopify.ScriptTag.find(limit=2)
    second = first.next_page()
    third = second.next_page()

    assert [[tag.id for tag in page] for page in (first, second, third)] == [ids[:2], ids[2:4], ids[4:]]
    assert not third.has_next_page()
    assert [tag.id for tag in third.previous_page()] == ids[2:4]
    assert [tag.id for tag in shopify.ScriptTag.find(since_id=ids[2])] == ids[3:]
    assert [tag.id for tag in shopify.ScriptTag.find(src=f"{SRC}?3")] == [ids[3]]


def test_refusals_reach_the_client_as_errors_of_the_object(api_client_factory: Connect) -> None:
    api_client_factory()

    tag = shopify.ScriptTag.create({"src": "http://scripts.example/a.js"})

    assert not tag.id
    assert sorted(tag.errors.full_messages()) == ["can't be blank", "is invalid", "src must be secure (HTTPS)"]


def test_missing_objects_raise_not_found(api_client_factory: Connect) -> None:
    api_client_factory()

    with pytest.raises(ResourceNotFound):
        shopify.ScriptTag.find(999_999)


def test_a_missing_scope_raises_forbidden(api_client_factory: Connect) -> None:
    api_client_factory("read_products")

    with pytest.raises(ForbiddenAccess):
        shopify.ScriptTag.find()


def test_an_uninstalled_app_is_shut_out(api_client_factory: Connect) -> None:
    api_client_factory("write_script_tags")
    shopify.ScriptTag.create({"src": SRC, "event": "onload"})

    shopify.ApiPermission.delete()

    with pytest.raises(UnauthorizedAccess):
        shopify.Shop.current()


def test_the_client_reads_the_call_limit(api_client_factory: Connect) -> None:
    api_client_factory()

    shopify.Shop.current()

    assert (shopify.Limits.credit_used(), shopify.Limits.credit_limit()) == (1, 40)
    assert shopify.Limits.credit_left() == 39
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
# The mutation as it appears in the documentation of existing clients.
CREATE = """
mutation webhookSubscriptionCreate($topic: WebhookSubscriptionTopic!, $webhookSubscription: WebhookSubscriptionInput!) {
  webhookSubscriptionCreate(topic: $topic, webhookSubscription: $webhookSubscription) {
    webhookSubscription { id topic uri }
    userErrors { field message }
  }
}
"""
LIST = "{ webhookSubscriptions(first: 5) { edges { node { id topic format } } } }"


def test_subscriptions_are_made_found_changed_counted_and_deleted(api_client_factory: Connect) -> None:
    api_client_factory()

    webhook = shopify.Webhook.create({"topic": "orders/create", "address": ADDRESS, "format": "json"})
    assert webhook.errors.full_messages() == []
    matching_webhook = shopify.Webhook.find(webhook.id)
    matching_webhook.address = f"{ADDRESS}/2"
    saved = matching_webhook.save()
    second_webhook = shopify.Webhook.find(webhook.id)
    webhooks = shopify.Webhook.find(topic="orders/create")

    assert saved, matching_webhook.errors.full_messages()
    assert (second_webhook.topic, second_webhook.address, second_webhook.format) == (
        "orders/create",
        f"{ADDRESS}/2",
        "json",
    )
    assert [item.id for item in webhooks] == [webhook.id]
    assert shopify.Webhook.count() == 1
    second_webhook.destroy()
    with pytest.raises(ResourceNotFound):
        shopify.Webhook.find(webhook.id)


def test_subscriptions_are_made_and_listed_over_graphql(api_client_factory: Connect) -> None:
    api_client_factory()
    variables = {"topic": "ORDERS_CREATE", "webhookSubscription": {"uri": ADDRESS, "format": "JSON"}}

    webhook_subscription_create = json.loads(shopify.GraphQL().execute(CREATE, variables))["data"][
        "webhookSubscriptionCreate"
    ]
    edges = json.loads(shopify.GraphQL().execute(LIST))["data"]["webhookSubscriptions"]["edges"]

    assert webhook_subscription_create["userErrors"] == []
    assert webhook_subscription_create["webhookSubscription"]["uri"] == ADDRESS
    assert [(edge["node"]["id"], edge["node"]["topic"]) for edge in edges] == [
        (webhook_subscription_create["webhookSubscription"]["id"], "ORDERS_CREATE")
    ]


def build_metafield(**values: object) -> shopify.Metafield:
    return shopify.Metafield({"namespace": "care", "key": "washing", "type": "single_line_text_field", **values})


@pytest.mark.parametrize("kind", ["Product", "CustomCollection", "Variant"])
def test_metafields_are_added_changed_and_deleted(api_client_factory: Connect, kind: str) -> None:
    api_client_factory()
    product = shopify.Product.create(BAG)
    owner = {
        "Product": product,
        "CustomCollection": shopify.CustomCollection.create({"title": "Kitchen"}),
        "Variant": product.variants[0],
    }[kind]

    added = owner.add_metafield(build_metafield(value="cold"))
    (rows,) = owner.metafields()
    rows.value = "by hand"
    saved = rows.save()
    (second_metafield,) = owner.metafields(namespace="care")

    assert added.errors.full_messages() == []
    assert saved, rows.errors.full_messages()
    assert (second_metafield.id, second_metafield.value, second_metafield.owner_id, second_metafield.type) == (
        added.id,
        "by hand",
        owner.id,
        "single_line_text_field",
    )
    assert owner.metafields_count() == 1

    second_metafield.destroy()

    assert owner.metafields() == []


def test_metafields_of_an_image_are_found_by_their_owner(api_client_factory: Connect) -> None:
    api_client_factory()
    product = shopify.Product.create(BAG)
    image = product.images[0]

    metafield = build_metafield(value="print", owner_id=image.id, owner_resource="product_image")
    saved = metafield.save()
    metafields = image.metafields()

    assert saved, metafield.errors.full_messages()
    assert [(row.id, row.value) for row in metafields] == [(metafield.id, "print")]


def test_metafields_of_the_shop_are_its_own(api_client_factory: Connect) -> None:
    api_client_factory()
    shopify.Product.create(BAG).add_metafield(build_metafield(value="cold"))
    shop = shopify.Shop.current()

    shop.add_metafield(build_metafield(value="warm"))

    assert [row.value for row in shop.metafields()] == ["warm"]
