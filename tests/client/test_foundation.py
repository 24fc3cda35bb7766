"""Tests with the real client: session, shop, access scopes, and script tags with paging and errors."""

import pytest
import shopify
from pyactiveresource.connection import ForbiddenAccess, ResourceNotFound, UnauthorizedAccess

from apps.shops.models import Shop
from tests.client.conftest import Connect

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


def test_what_does_not_exist_raises_not_found(api_client_factory: Connect) -> None:
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
