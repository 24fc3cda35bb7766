"""See checks M10 and A12 in docs/reliability.md."""

from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.customers.domain import accounts, addresses
from apps.customers.models import Customer
from tests.support.api_client import ApiClient, Response
from tests.support.databases.races import run_concurrently, run_unguarded, without_constraint
from tests.support.factories.customers import make_address, make_customer

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def send_concurrently(api: ApiClient, *requests: tuple[str, *tuple[object, ...]]) -> list[Response]:
    """Send requests concurrently, each given as the client's method and its arguments."""
    works = [partial(getattr(ApiClient(api.token, api.installation), method), *args) for method, *args in requests]
    return run_concurrently(api.installation.shop, *works)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("email", ["anna@example.com"] * 8),
        ("email", ["anna@example.com", "ANNA@example.com", " anna@example.com ", "Anna@EXAMPLE.com"] * 2),
        ("email", ["a@bücher.example", "a@bu\u0308cher.example", "a@xn--bcher-kva.example", "A@BÜCHER.example"] * 2),
        ("phone", ["+14155550123", "415-555-0123", "(415) 555 0123", "+1 415 555 01 23"] * 2),
    ],
    ids=["the same", "case and blanks", "Unicode forms", "phone spellings"],
)
@pytest.mark.race(control="test_two_customers_share_a_contact_without_the_unique_keys")
def test_one_create_with_the_same_contact_succeeds(api: ApiClient, shop: Shop, field: str, values: list[str]) -> None:
    bodies = [{"customer": {"first_name": "A", field: value}} for value in values]
    answers = send_concurrently(api, *(("post", "customers.json", body) for body in bodies))

    assert Counter(response.status_code for response in answers) == {201: 1, 422: len(values) - 1}
    refusals = [response.json() for response in answers if response.status_code == 422]
    assert refusals == [{"errors": {field: ["has already been taken"]}}] * (len(values) - 1)
    with shop_scope(shop):
        assert Customer.objects.count() == 1
        assert Event.objects.filter(topic="customers/create").count() == 1


@pytest.mark.race(control="test_two_customers_share_a_contact_without_the_unique_keys")
def test_one_of_several_updates_to_the_same_email_succeeds(api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        ids = [make_customer().pk for _ in range(4)]
    body = {"customer": {"email": "one@example.com"}}

    answers = send_concurrently(api, *(("put", f"customers/{pk}.json", body) for pk in ids))

    assert Counter(response.status_code for response in answers) == {200: 1, 422: 3}


def test_two_customers_share_a_contact_without_the_unique_keys(api: ApiClient, shop: Shop) -> None:
    """Show what goes wrong without the unique constraints: the check for a contact misses concurrent inserts."""
    contacts: list[Attrs] = [{"email": "anna@example.com"}, {"phone": "+14155550123"}]
    with without_constraint(Customer, "shop_id", "email_key"), without_constraint(Customer, "shop_id", "phone"):
        for contact in contacts:
            response = run_unguarded(
                shop,
                partial(make_customer, **contact),
                partial(api.post, "customers.json", {"customer": {"first_name": "A", **contact}}),
            )
            assert response.status_code == 201


def make_activation_url(shop: Shop) -> tuple[Customer, str]:
    with shop_scope(shop):
        customer = make_customer()
        url = accounts.create_activation_url(customer, actor="staff:1", at=timezone.now())
        customer.refresh_from_db()
    return customer, url.removeprefix(settings.BASE_URL)


def build_password_work(url: str, password: str) -> Callable[[], object]:
    body = {"password": password, "password_confirmation": password}
    return lambda: Client().post(url, body).status_code


@pytest.mark.race(control="test_one_link_activates_twice_without_the_condition_of_the_update")
def test_one_of_several_concurrent_activations_succeeds(shop: Shop) -> None:
    customer, url = make_activation_url(shop)

    statuses = run_concurrently(shop, *(build_password_work(url, f"password {number}") for number in range(6)))

    assert Counter(statuses) == {200: 1, 410: 5}
    with shop_scope(shop):
        customer.refresh_from_db()
        assert customer.check_password(f"password {statuses.index(200)}")
        assert Event.objects.filter(topic="customers/enable").count() == 1


def test_one_link_activates_twice_without_the_condition_of_the_update(shop: Shop) -> None:
    """Show what goes wrong without the condition of the update: both links are valid, and the second password wins."""
    customer, url = make_activation_url(shop)
    used = {"customers_customer": ("activation_nonce", "activation_expires_at", "state")}

    status = run_unguarded(
        shop, build_password_work(url, "password 1"), build_password_work(url, "password 2"), conditions=used
    )

    assert status == 200
    with shop_scope(shop):
        customer.refresh_from_db()
        assert customer.check_password("password 2")
        assert Event.objects.filter(topic="customers/enable").count() == 2


@pytest.mark.race(no_guard="a customer has one column for the secret: that of the link made last")
def test_links_made_at_once_leave_one_alive(api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        customer = make_customer()
    path = f"customers/{customer.pk}/account_activation_url.json"

    answers = send_concurrently(api, *[("post", path)] * 5)

    urls = [response.json()["account_activation_url"].removeprefix(settings.BASE_URL) for response in answers]
    assert Counter(Client().get(url).status_code for url in urls) == {200: 1, 410: 4}


@pytest.mark.race(control="test_an_address_is_left_without_a_default_without_the_customers_lock")
def test_first_addresses_made_at_once_leave_one_default(api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        customer = make_customer()
    body = {"address": {"city": "Lund", "country": "Sweden"}}

    answers = send_concurrently(api, *[("post", f"customers/{customer.pk}/addresses.json", body)] * 5)

    assert [response.status_code for response in answers] == [201] * 5
    displayed_customer = api.get(f"customers/{customer.pk}.json").json()["customer"]
    assert sorted(row["default"] for row in displayed_customer["addresses"]) == [False] * 4 + [True]


@pytest.mark.race(control="test_an_address_is_left_without_a_default_without_the_customers_lock")
def test_the_default_cannot_lose_its_last_companion_and_itself_at_once(api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        customer = make_customer()
        default, other = make_address(customer), make_address(customer)
    base = f"customers/{customer.pk}/addresses"

    answers = send_concurrently(api, *(("delete", f"{base}/{row.pk}.json") for row in (default, other)))

    assert answers[1].status_code == 200
    assert answers[0].status_code in {200, 422}
    displayed_customer = api.get(f"customers/{customer.pk}.json").json()["customer"]
    assert (displayed_customer["default_address"] is None) == (displayed_customer["addresses"] == [])


def test_an_address_is_left_without_a_default_without_the_customers_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock: the deletion misses the new address, so no address is the default."""
    by: Attrs = {"actor": "staff:1", "at": timezone.now()}
    with shop_scope(shop):
        customer = make_customer()
        default = make_address(customer)

    run_unguarded(
        shop,
        lambda: addresses.create_address(customer, {"city": "Lund", "country": "Sweden"}, **by),
        lambda: addresses.delete_addresses(customer, [default.pk], **by),
        locks={"customers_customer"},
    )

    with shop_scope(shop):
        customer.refresh_from_db()
        assert (customer.default_address, customer.addresses.count()) == (None, 1)
