"""Tests with the real client: customers, their addresses, invitations, search and metafields."""

import json
from typing import Any
from urllib.request import urlopen

import pytest
import shopify
from pyactiveresource.connection import ResourceNotFound

from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.support.servers.live import Connect

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

ADA = {
    "first_name": "Ada",
    "last_name": "Berg",
    "email": "ada@example.com",
    "phone": "+4681234567",
    "tags": "vip, early",
    "note": "Likes mugs",
    "verified_email": True,
    "addresses": [{"address1": "Storgatan 1", "city": "Lund", "zip": "222 22", "country": "Sweden"}],
}
HOME = {"address1": "Hauptplatz 2", "city": "Graz", "zip": "8010", "country": "Austria"}


def get_emails(customers: Any) -> list[str]:
    return sorted(customer.email for customer in customers)


def test_a_customer_is_made_and_found(api_client_factory: Connect) -> None:
    api_client_factory()

    customer = shopify.Customer.create(ADA)
    matching_customer = shopify.Customer.find(customer.id)

    assert customer.errors.full_messages() == []
    assert (matching_customer.email, matching_customer.tags, matching_customer.state, matching_customer.phone) == (
        "ada@example.com",
        "early, vip",
        "disabled",
        "+4681234567",
    )
    assert matching_customer.default_address.city == "Lund"
    assert matching_customer.default_address.country_code == "SE"
    assert [address.default for address in matching_customer.addresses] == [True]


def test_a_found_customer_is_changed_and_saved_whole(api_client_factory: Connect) -> None:
    api_client_factory()
    customer = shopify.Customer.create(ADA)

    matching_customer = shopify.Customer.find(customer.id)
    matching_customer.note = "Likes bowls"
    matching_customer.tags = "early, vip, bowls"
    saved = matching_customer.save()
    second_customer = shopify.Customer.find(customer.id)

    assert saved, matching_customer.errors.full_messages()
    assert (second_customer.note, second_customer.tags, second_customer.email) == (
        "Likes bowls",
        "bowls, early, vip",
        "ada@example.com",
    )
    assert [address.id for address in second_customer.addresses] == [address.id for address in customer.addresses]


def test_customers_are_counted_listed_and_deleted(api_client_factory: Connect) -> None:
    api_client_factory()
    customers = [shopify.Customer.create({"email": f"{number}@example.com"}) for number in range(3)]

    assert shopify.Customer.count() == 3
    assert get_emails(shopify.Customer.find(ids=f"{customers[0].id},{customers[2].id}")) == [
        "0@example.com",
        "2@example.com",
    ]
    assert get_emails(shopify.Customer.find(since_id=customers[1].id)) == ["2@example.com"]

    customers[1].destroy()

    assert get_emails(shopify.Customer.find()) == ["0@example.com", "2@example.com"]
    with pytest.raises(ResourceNotFound):
        shopify.Customer.find(customers[1].id)


def test_customers_are_searched(api_client_factory: Connect) -> None:
    api_client_factory()
    shopify.Customer.create(ADA)
    shopify.Customer.create({"first_name": "Ben", "email": "ben@example.com", "tags": "early"})

    assert get_emails(shopify.Customer.search(query="tag:early AND first_name:Ben")) == ["ben@example.com"]
    assert get_emails(shopify.Customer.search(query="email:ada@example.com", fields="id,email")) == ["ada@example.com"]
    assert get_emails(shopify.Customer.search(query="tag:early", order="last_name asc", limit=5)) == [
        "ada@example.com",
        "ben@example.com",
    ]
    assert shopify.Customer.search(query="nobody") == []


def test_addresses_are_made_changed_made_default_and_deleted(api_client_factory: Connect) -> None:
    api_client_factory()
    customer = shopify.Customer.create(ADA)
    lund = customer.addresses[0].id

    response = customer.post("addresses", json.dumps({"address": HOME}).encode())
    graz = json.loads(response.body)["customer_address"]["id"]
    customer.put(f"addresses/{graz}", json.dumps({"address": {"city": "Wien"}}).encode())
    customer.put(f"addresses/{graz}/default")
    rows = customer.get("addresses")
    customer.delete(f"addresses/{lund}")
    customer.reload()

    assert sorted((address["city"], address["default"]) for address in rows) == [("Lund", False), ("Wien", True)]
    assert [address.city for address in customer.addresses] == ["Wien"]
    assert customer.default_address.id == graz


def test_several_addresses_are_deleted_at_once(api_client_factory: Connect) -> None:
    api_client_factory()
    customer = shopify.Customer.create({**ADA, "addresses": [{**HOME, "address1": f"Platz {n}"} for n in range(3)]})
    default = customer.default_address.id
    other_ids = [address.id for address in customer.addresses if address.id != default]

    customer.put("addresses/set", operation="destroy", address_ids=other_ids)
    customer.reload()

    assert [address.id for address in customer.addresses] == [default]


def test_an_invitation_is_sent(api_client_factory: Connect, server_shop: Shop) -> None:
    api_client_factory()
    customer = shopify.Customer.create(ADA)

    plain = customer.send_invite()
    own = customer.send_invite(
        shopify.CustomerInvite({"to": "b@example.com", "subject": "Come in", "custom_message": "Hello"})
    )
    customer.reload()

    assert (plain.to, plain.subject) == ("ada@example.com", "Activate your account at Client Shop")
    assert (own.to, own.subject, own.custom_message) == ("b@example.com", "Come in", "Hello")
    assert customer.state == "invited"
    with shop_scope(server_shop):
        assert Job.objects.filter(task__contains="invite").count() == 2


def test_an_activation_url_opens_the_page_on_which_a_password_is_chosen(api_client_factory: Connect) -> None:
    api_client_factory()
    customer = shopify.Customer.create(ADA)

    url = json.loads(customer.post("account_activation_url").body)["account_activation_url"]
    with urlopen(url) as response:
        page = response.read().decode()

    assert 'type="password"' in page


def test_customers_have_metafields(api_client_factory: Connect) -> None:
    api_client_factory()
    shirt = {"namespace": "sizes", "key": "shirt", "type": "single_line_text_field", "value": "M"}
    customer = shopify.Customer.create({**ADA, "metafields": [shirt]})

    customer.add_metafield(shopify.Metafield({**shirt, "key": "shoe", "type": "number_integer", "value": 41}))

    assert sorted((row.key, row.value) for row in customer.metafields()) == [("shirt", "M"), ("shoe", 41)]
    assert customer.metafields_count() == 2


def test_marketing_consent_is_kept_when_a_customer_is_saved_whole(api_client_factory: Connect) -> None:
    api_client_factory()
    consent = {"state": "subscribed", "opt_in_level": "single_opt_in", "consent_updated_at": "2026-02-01T10:00:00Z"}
    customer = shopify.Customer.create({**ADA, "email_marketing_consent": consent})

    matching_customer = shopify.Customer.find(customer.id)
    matching_customer.first_name = "Adele"
    saved = matching_customer.save()
    second_customer = shopify.Customer.find(customer.id)

    assert saved, matching_customer.errors.full_messages()
    assert second_customer.first_name == "Adele"
    assert second_customer.email_marketing_consent.to_dict() == customer.email_marketing_consent.to_dict()
