import json
from typing import Any
from urllib.request import urlopen

import pytest
import shopify
from pyactiveresource.connection import ResourceNotFound

from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.client.resources import change, create

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client"), pytest.mark.usefixtures("all_scopes")]

HOME = {"address1": "Hauptplatz 2", "city": "Graz", "zip": "8010", "country": "Austria"}
CONSENT = {"state": "subscribed", "opt_in_level": "single_opt_in", "consent_updated_at": "2026-02-01T10:00:00Z"}


def create_ada(**values: object) -> Any:
    ada = {
        "first_name": "Ada",
        "last_name": "Berg",
        "email": "ada@example.com",
        "phone": "+4681234567",
        "tags": "vip, early",
        "note": "Likes mugs",
        "verified_email": True,
        "addresses": [{"address1": "Storgatan 1", "city": "Lund", "zip": "222 22", "country": "Sweden"}],
    }
    return create(shopify.Customer, **{**ada, **values})


def get_emails(customers: Any) -> list[str]:
    return sorted(customer.email for customer in customers)


def test_a_customer_is_made_and_found() -> None:
    customer = shopify.Customer.find(create_ada().id)

    assert (customer.email, customer.tags, customer.state, customer.phone) == (
        "ada@example.com",
        "early, vip",
        "disabled",
        "+4681234567",
    )
    assert (customer.default_address.city, customer.default_address.country_code) == ("Lund", "SE")
    assert [address.default for address in customer.addresses] == [True]


def test_a_found_customer_is_changed_and_saved_whole() -> None:
    customer = create_ada(email_marketing_consent=CONSENT)

    changed = change(customer, note="Likes bowls", tags="early, vip, bowls")

    assert (changed.note, changed.tags, changed.email) == ("Likes bowls", "bowls, early, vip", "ada@example.com")
    assert [address.id for address in changed.addresses] == [address.id for address in customer.addresses]
    assert changed.email_marketing_consent.to_dict() == customer.email_marketing_consent.to_dict()


def test_customers_are_counted_listed_and_deleted() -> None:
    customers = [create(shopify.Customer, email=f"{number}@example.com") for number in range(3)]

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


def test_customers_are_searched() -> None:
    create_ada()
    create(shopify.Customer, first_name="Ben", email="ben@example.com", tags="early")
    both = {"query": "tag:early", "order": "last_name asc", "limit": 5}

    assert get_emails(shopify.Customer.search(query="tag:early AND first_name:Ben")) == ["ben@example.com"]
    assert get_emails(shopify.Customer.search(query="email:ada@example.com", fields="id,email")) == ["ada@example.com"]
    assert get_emails(shopify.Customer.search(**both)) == ["ada@example.com", "ben@example.com"]
    assert shopify.Customer.search(query="nobody") == []


def test_addresses_are_made_changed_made_default_and_deleted() -> None:
    customer = create_ada()
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


def test_several_addresses_are_deleted_at_once() -> None:
    customer = create_ada(addresses=[{**HOME, "address1": f"Platz {n}"} for n in range(3)])
    default = customer.default_address.id
    other_ids = [address.id for address in customer.addresses if address.id != default]

    customer.put("addresses/set", operation="destroy", address_ids=other_ids)
    customer.reload()

    assert [address.id for address in customer.addresses] == [default]


def test_an_invitation_is_sent(server_shop: Shop) -> None:
    customer = create_ada()
    values = {"to": "b@example.com", "subject": "Come in", "custom_message": "Hello"}

    plain = customer.send_invite()
    own = customer.send_invite(shopify.CustomerInvite(values))
    customer.reload()

    assert (plain.to, plain.subject) == ("ada@example.com", "Activate your account at Client Shop")
    assert {name: getattr(own, name) for name in values} == values
    assert customer.state == "invited"
    with shop_scope(server_shop):
        assert Job.objects.filter(task="customers.send_invitation").count() == 2


def test_an_activation_url_opens_the_page_on_which_a_password_is_chosen() -> None:
    url = json.loads(create_ada().post("account_activation_url").body)["account_activation_url"]

    with urlopen(url) as response:
        assert 'type="password"' in response.read().decode()
