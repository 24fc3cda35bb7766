"""Tests for customers in the panel: search, addresses, consent, invitations, disabling and erasure."""

import json

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from apps.core.events.models import Event
from apps.core.jobs.models import Job
from apps.core.tenancy.actor_names import get_staff_actor
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.domain import accounts, personal_data
from apps.customers.domain.customers import update_customer
from apps.customers.models import Address, ConsentChange, Customer
from tests.support.api_client import Response
from tests.support.factories.customers import make_address, make_customer
from tests.support.panel.client import Panel, PanelWith

CHANGE, LIST = "customers_customer_change", "customers_customer_changelist"
EMPTY_SETS = {
    f"{prefix}-{name}": "0"
    for prefix in ("addresses", "consent_changes", "metafields")
    for name in ("TOTAL_FORMS", "INITIAL_FORMS")
}


@pytest.fixture
def customer_client(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("customers")


@pytest.fixture
def customer(shop: Shop) -> Customer:
    with shop_scope(shop):
        return make_customer(first_name="Anna", last_name="Lindqvist", email="anna@example.com", tags="vip")


def reload_customer(customer: Customer) -> Customer:
    with shop_scope(customer.shop):
        return Customer.objects.get(pk=customer.pk)


def build_customer_form(customer: Customer, *rows: dict[str, str], **fields: str) -> dict[str, str]:
    """Return the customer form's data, with changed fields and the given address rows."""
    with shop_scope(customer.shop):
        customer.refresh_from_db()
        address_count = Address.objects.filter(customer=customer).count()
    payload = {
        "first_name": customer.first_name,
        "last_name": customer.last_name,
        "email": customer.email,
        "phone": customer.phone,
        "tags": customer.tags,
        "note": customer.note,
        "email_consent": customer.email_marketing_state,
        "sms_consent": customer.sms_marketing_state,
        "seen_version": str(customer.version),
        **EMPTY_SETS,
        "addresses-TOTAL_FORMS": str(len(rows)),
        "addresses-INITIAL_FORMS": str(address_count if rows else 0),
        **fields,
    }
    for index, row in enumerate(rows):
        payload |= {f"addresses-{index}-{name}": value for name, value in {"customer": str(customer.pk), **row}.items()}
    return payload


def build_address_row(address: Address, **changes: str) -> dict[str, str]:
    names = ("first_name", "last_name", "company", "address1", "address2", "city", "zip", "province", "phone")
    payload = {name: getattr(address, name) or "" for name in names}
    return {"id": str(address.pk), **payload, "country_code": address.country_code, **changes}


def get_message_texts(response: Response) -> str:
    return " ".join(str(message) for message in response.context["messages"])


def get_topics(shop: Shop) -> list[str]:
    with shop_scope(shop):
        return list(Event.objects.filter(topic__startswith="customers").order_by("id").values_list("topic", flat=True))


# --- the list ---


@pytest.mark.parametrize(
    ("text", "matches"),
    [("lindq", 1), ("ANNA@", 1), ("tag:vip", 1), ("tag:vip bo", 0), ("anna (", 1), ("id:abc", 0), ("%", 0), ("", 2)],
)
def test_the_list_finds_words_and_queries(customer_client: Panel, customer: Customer, text: str, matches: int) -> None:
    with shop_scope(customer_client.shop):
        make_customer(first_name="Bo")

    page = customer_client.get(LIST, q=text)

    assert page.status_code == 200
    assert page.context["cl"].result_count == matches


def test_the_list_shows_what_matters_in_few_queries(
    customer_client: Panel, customer: Customer, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with shop_scope(customer_client.shop):
        for number in range(5):
            make_customer(first_name=f"Number {number}")
    customer_client.get(LIST)

    with django_assert_max_num_queries(12):
        page = customer_client.get(LIST).content.decode()

    assert "Anna Lindqvist" in page
    assert "anna@example.com" in page


def test_staff_with_the_permission_find_customers_anywhere(customer_client: Panel, customer: Customer) -> None:
    assert "Anna Lindqvist" in customer_client.get("search", s="lindq").content.decode()


# --- the form ---


def test_staff_add_a_customer(customer_client: Panel, shop: Shop) -> None:
    payload = {
        "first_name": "Bo",
        "email": " Bo@Example.com ",
        "phone": "415 555 0123",
        "tags": "b, A",
        "email_consent": "subscribed",
        "addresses-TOTAL_FORMS": "1",
        "addresses-INITIAL_FORMS": "0",
        "addresses-0-city": "Lund",
        "addresses-0-country_code": "SE",
    }

    response = customer_client.post("customers_customer_add", **payload)

    assert response.status_code == 302, response.context["adminform"].form.errors
    with shop_scope(shop):
        new_customer = Customer.objects.get()
        assert (new_customer.email, new_customer.phone, new_customer.email_marketing_state) == (
            "Bo@Example.com",
            "+14155550123",
            "subscribed",
        )
        assert new_customer.default_address is not None
        assert new_customer.default_address.country == "Sweden"
        assert Event.objects.get(topic="customers/create").actor == f"staff:{customer_client.user.pk}"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"first_name": "", "last_name": "", "email": ""}, "Must have a name or email address."),
        ({"phone": "12"}, "Is invalid."),
        ({"email": "taken@example.com"}, "Has already been taken."),
        ({"email": "TAKEN@example.com"}, "Has already been taken."),
        ({"phone": "(415) 555-0199"}, "Has already been taken."),
        ({"sms_consent": "subscribed"}, "Needs a phone"),
    ],
)
def test_invalid_values_are_refused(
    customer_client: Panel, customer: Customer, fields: dict[str, str], says: str
) -> None:
    with shop_scope(customer_client.shop):
        make_customer(email="taken@example.com", phone="+14155550199")

    response = customer_client.post(CHANGE, customer.pk, **build_customer_form(customer, **fields))

    assert response.status_code == 200
    assert says in response.content.decode()
    assert reload_customer(customer).email == "anna@example.com"


def test_staff_change_consents_and_the_history_shows_it(customer_client: Panel, customer: Customer, shop: Shop) -> None:
    response = customer_client.post(
        CHANGE, customer.pk, **build_customer_form(customer, email_consent="subscribed", note="Nice")
    )

    assert response.status_code == 302, response.context["adminform"].form.errors
    assert (reload_customer(customer).email_marketing_state, reload_customer(customer).note) == ("subscribed", "Nice")
    assert get_topics(shop)[-2:] == ["customers_email_marketing_consent/update", "customers/update"]
    page = customer_client.get(CHANGE, customer.pk).content.decode()
    assert "consent history" in page.lower()
    assert customer_client.user.get_full_name() in page


def test_a_long_consent_history_shows_the_newest(customer_client: Panel, customer: Customer, shop: Shop) -> None:
    staff = get_staff_actor(customer_client.user)
    with shop_scope(shop):
        ConsentChange.objects.bulk_create(
            ConsentChange(shop=shop, customer=customer, channel="email", state="subscribed", actor=staff)
            for _ in range(100)
        )

    with CaptureQueriesContext(connection) as captured:
        page = customer_client.get(CHANGE, customer.pk)

    assert sum('"staff_user"."id" IN' in query["sql"] for query in captured) == 1
    (inline_admin_formset,) = (
        query for query in page.context["inline_admin_formsets"] if query.formset.model is ConsentChange
    )
    assert len(inline_admin_formset.formset.forms) == 20
    customer_client.post(CHANGE, customer.pk, **build_customer_form(customer, note="Nice"))
    assert reload_customer(customer).note == "Nice"


def test_staff_change_addresses_within_the_form(customer_client: Panel, customer: Customer, shop: Shop) -> None:
    with shop_scope(shop):
        first, second, third = (make_address(customer, city=city) for city in ("Lund", "Umeå", "Ystad"))
    rows = [
        build_address_row(first, DELETE="on"),
        build_address_row(second, is_default="on", city="Kiruna"),
        build_address_row(third),
        {"city": "Toronto", "country_code": "CA", "province": "ontario"},
    ]

    response = customer_client.post(CHANGE, customer.pk, **build_customer_form(customer, *rows))

    assert response.status_code == 302, response.context["errors"]
    with shop_scope(shop):
        cities = list(Address.objects.order_by("id").values_list("city", "province_code"))
    assert [city for city, _ in cities] == ["Kiruna", "Ystad", "Toronto"]
    assert cities[2][1] == "ON"
    assert reload_customer(customer).default_address_id == second.pk


def test_the_default_address_stays_while_others_do(customer_client: Panel, customer: Customer, shop: Shop) -> None:
    with shop_scope(shop):
        first, second = make_address(customer), make_address(customer)

    response = customer_client.post(
        CHANGE,
        customer.pk,
        **build_customer_form(customer, build_address_row(first, DELETE="on"), build_address_row(second)),
    )

    assert response.status_code == 200
    assert "default address while the customer has other addresses" in response.content.decode()
    with shop_scope(shop):
        assert Address.objects.count() == 2


def test_addresses_of_other_customers_are_refused(customer_client: Panel, customer: Customer, shop: Shop) -> None:
    with shop_scope(shop):
        mine, foreign = make_address(customer), make_address(make_customer())

    customer_client.post(
        CHANGE, customer.pk, **build_customer_form(customer, build_address_row(foreign, city="Stolen"))
    )

    with shop_scope(shop):
        foreign.refresh_from_db()
        mine.refresh_from_db()
    assert (foreign.city, foreign.customer_id == customer.pk) == ("Lund", False)


def test_a_customer_with_orders_is_not_deleted(customer_client: Panel, customer: Customer) -> None:
    with shop_scope(customer_client.shop):
        Customer.objects.filter(pk=customer.pk).update(orders_count=1)

    refused = customer_client.http.post(
        customer_client.url("customers_customer_delete", customer.pk), {"post": "yes"}, follow=True
    )

    assert "the orders are needed for bookkeeping" in get_message_texts(refused)
    assert reload_customer(customer)


def test_a_customer_without_orders_is_deleted(customer_client: Panel, customer: Customer, shop: Shop) -> None:
    customer_client.post("customers_customer_delete", customer.pk, post="yes")

    with shop_scope(shop):
        assert not Customer.objects.exists()
    assert get_topics(shop)[-1] == "customers/delete"


# --- account ---


def test_an_invitation_is_sent_once_per_form(customer_client: Panel, customer: Customer, shop: Shop) -> None:
    name = "customers_customer_invite"
    page = customer_client.get(name, customer.pk)
    payload = {"to": "anna@example.com", "subject": "Come in", "form_key": page.context["form_key"]}

    answers = [customer_client.post(name, customer.pk, **payload) for _ in range(2)]

    assert [response.status_code for response in answers] == [302, 302]
    assert reload_customer(customer).state == "invited"
    with shop_scope(shop):
        assert Job.objects.filter(task="customers.send_invite").count() == 1


def test_a_bad_invitation_comes_back(customer_client: Panel, customer: Customer, shop: Shop) -> None:
    name = "customers_customer_invite"
    page = customer_client.get(name, customer.pk)

    response = customer_client.post(name, customer.pk, to="nobody", subject="", form_key=page.context["form_key"])

    assert response.status_code == 200
    assert set(response.context["form"].errors) == {"to", "subject"}
    assert reload_customer(customer).state == "disabled"


def test_the_page_says_that_the_shop_has_no_accounts(customer_client: Panel, customer: Customer, shop: Shop) -> None:
    Shop.objects.filter(pk=shop.pk).update(customer_accounts="disabled")

    invite = customer_client.get("customers_customer_invite", customer.pk).content.decode()
    link = customer_client.http.post(customer_client.url("customers_customer_activation", customer.pk), follow=True)

    assert "turned off" in invite
    assert "Customer accounts are disabled." in get_message_texts(link)


def test_an_activation_link_is_shown_this_once(customer_client: Panel, customer: Customer) -> None:
    response = customer_client.get("customers_customer_activation", customer.pk)
    new_response = customer_client.post("customers_customer_activation", customer.pk)
    second_response = customer_client.get("customers_customer_activation", customer.pk)

    assert f"{settings.BASE_URL}/account/activate/acme/{customer.pk}/" in new_response.content.decode()
    assert "no-store" in new_response["Cache-Control"]
    assert "/account/activate/" not in response.content.decode() + second_response.content.decode()


def test_an_account_is_disabled_after_asking(customer_client: Panel, customer: Customer, shop: Shop) -> None:
    with shop_scope(shop):
        accounts.send_invite(reload_customer(customer), {}, actor="staff:1", at=timezone.now())

    response = customer_client.get("customers_customer_disable", customer.pk)
    finished_response = customer_client.http.post(
        customer_client.url("customers_customer_disable", customer.pk), follow=True
    )
    twice = customer_client.http.post(customer_client.url("customers_customer_disable", customer.pk), follow=True)

    assert response.status_code == 200
    assert "was disabled" in get_message_texts(finished_response)
    assert "has no account" in get_message_texts(twice)
    assert reload_customer(customer).state == "disabled"


# --- personal data ---


def test_the_data_is_handed_over_as_a_file_and_noted(customer_client: Panel, customer: Customer, shop: Shop) -> None:
    response = customer_client.post("customers_customer_data_export", customer.pk)

    assert response["Content-Disposition"] == f'attachment; filename="customer-{customer.pk}.json"'
    assert json.loads(response.content)["customer"]["email"] == "anna@example.com"
    assert get_topics(shop)[-2:] == ["customers/export", "customers/data_request"]


def test_erasing_asks_for_the_number(customer_client: Panel, customer: Customer, shop: Shop) -> None:
    wrong = customer_client.post("customers_customer_data_erase", customer.pk, confirm="0")
    email = reload_customer(customer).email
    customer_client.post("customers_customer_data_erase", customer.pk, confirm=str(customer.pk))

    assert "No data was erased" in wrong.content.decode()
    assert email == "anna@example.com"
    assert (reload_customer(customer).email, reload_customer(customer).redacted_at is None) == ("", False)
    assert "Erased" in customer_client.get(CHANGE, customer.pk).content.decode()


def test_data_added_after_an_erasure_can_be_erased_too(customer_client: Panel, customer: Customer, shop: Shop) -> None:
    with shop_scope(shop):
        personal_data.redact_customer(customer, actor="staff:1", at=timezone.now())
        update_customer(customer, {"email": "back@example.com"}, actor="staff:1", at=timezone.now())

    page = customer_client.get("customers_customer_data", customer.pk).content.decode()
    customer_client.post("customers_customer_data_erase", customer.pk, confirm=str(customer.pk))

    assert "You can erase data that was added after this date" in page
    assert reload_customer(customer).email == ""


def test_total_spent_has_the_shops_decimals(customer_client: Panel, customer: Customer, shop: Shop) -> None:
    Shop.objects.filter(pk=shop.pk).update(currency="JPY")
    with shop_scope(shop):
        Customer.objects.filter(pk=customer.pk).update(total_spent=140)

    assert "140 JPY spent" in customer_client.get(CHANGE, customer.pk).content.decode()


def test_two_customers_are_compared_and_merged(customer_client: Panel, shop: Shop, customer: Customer) -> None:
    with shop_scope(shop):
        other = make_customer(first_name="Anna", last_name="Lindqvist", email="anna@example.org", tags="wholesale")
        for current_row in (customer, other):
            make_address(current_row)

    html = customer_client.get("customers_customer_merge", customer.pk).content.decode()
    assert "anna@example.org" in html
    response = customer_client.post(LIST, action="merge_chosen", _selected_action=[str(customer.pk), str(other.pk)])
    assert response["Location"].endswith(f"/{customer.pk}/merge/with/?other={other.pk}")
    preview = customer_client.http.get(response["Location"])
    page = preview.content.decode()
    assert "anna@example.com" in page
    assert 'name="choose-email"' in page
    assert 'name="choose-name"' not in page
    payload = {"form_key": preview.context["form_key"], "choose-email": "neither"}
    wrong = customer_client.http.post(response["Location"], payload)
    assert "must be one of" in wrong.content.decode()
    finished_response = customer_client.http.post(response["Location"], {**payload, "choose-email": "other"})

    assert finished_response.status_code == 302
    row = reload_customer(customer)
    assert (row.email, row.tags) == ("anna@example.org", "vip, wholesale")
    with shop_scope(shop):
        assert Customer.objects.count() == 1
    assert (
        f"Customer {other.pk} was merged"
        in customer_client.get("customers_customer_history", customer.pk).content.decode()
    )
