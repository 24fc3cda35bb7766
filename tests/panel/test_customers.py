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
from apps.customers.domain import accounts
from apps.customers.domain.customers import update_customer
from apps.customers.models import Address, ConsentChange, Customer
from apps.draft_orders.models import DraftOrder
from apps.orders.models import Order
from tests.support.api_client import Response
from tests.support.factories.customers import make_address, make_customer
from tests.support.factories.draft_orders import make_draft_order
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.pages import get_messages

pytestmark = pytest.mark.usefixtures("in_shop")

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
    return make_customer(first_name="Anna", last_name="Lindqvist", email="anna@example.com", tags="vip")


def reload_customer(customer: Customer) -> Customer:
    return Customer.objects.get(pk=customer.pk)


def build_customer_form(customer: Customer, *rows: dict[str, str], **fields: str) -> dict[str, str]:
    """Return the customer form's data, with changed fields and the given address rows."""
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


def send_form(panel: Panel, customer: Customer, *rows: dict[str, str], **fields: str) -> Response:
    return panel.post(CHANGE, customer.pk, **build_customer_form(customer, *rows, **fields))


def post_and_follow(panel: Panel, page: str, customer: Customer) -> str:
    """Send a page's form; return the messages on the next page."""
    address = panel.url(f"customers_customer_{page}", customer.pk)
    return get_messages(panel.http.post(address, {"post": "yes"}, follow=True))


def get_topics() -> list[str]:
    return list(Event.objects.filter(topic__startswith="customers").order_by("id").values_list("topic", flat=True))


@pytest.mark.parametrize(
    ("text", "matches"),
    [("lindq", 1), ("ANNA@", 1), ("tag:vip", 1), ("tag:vip bo", 0), ("anna (", 1), ("id:abc", 0), ("%", 0), ("", 2)],
)
def test_the_list_finds_words_and_queries(customer_client: Panel, customer: Customer, text: str, matches: int) -> None:
    make_customer(first_name="Bo")

    page = customer_client.get(LIST, q=text)

    assert (page.status_code, page.context["cl"].result_count) == (200, matches)


def test_the_list_shows_what_matters_in_few_queries(
    customer_client: Panel, customer: Customer, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(5):
        make_customer(first_name=f"Number {number}")
    customer_client.get(LIST)

    with django_assert_max_num_queries(12):
        page = customer_client.get(LIST).content.decode()

    assert "Anna Lindqvist" in page
    assert "anna@example.com" in page
    assert "Anna Lindqvist" in customer_client.get("search", s="lindq").content.decode()


def test_the_list_has_views_and_shows_accounts(customer_client: Panel, customer: Customer) -> None:
    Customer.objects.update(state="disabled", email_marketing_state="not_subscribed")
    active, subscribed = make_customer(first_name="Bo"), make_customer(first_name="Cy")
    Customer.objects.filter(pk=active.pk).update(state="enabled", total_spent=140)
    Customer.objects.filter(pk=subscribed.pk).update(email_marketing_state="subscribed")

    rows = {
        view: [*customer_client.get(LIST, view=view).context["cl"].result_list] for view in ("account", "subscribed")
    }
    page = customer_client.get(LIST)
    table = page.content.decode().partition("<tbody")[2].partition("</table>")[0]

    assert rows == {"account": [active], "subscribed": [subscribed]}
    assert len(page.context["cl"].result_list) == 3
    assert table.count("Active account") == 1
    assert "No account" not in table
    assert f"140.00 {customer_client.shop.currency}" in table


def test_the_page_links_orders_and_creates_one(admin_client_with: PanelWith, customer: Customer) -> None:
    order = make_order(customer.shop)
    Order.objects.filter(pk=order.pk).update(customer=customer)
    Customer.objects.filter(pk=customer.pk).update(
        orders_count=1, last_order_id=order.pk, last_order_name=order.name, last_order_at=timezone.now()
    )
    with_orders = admin_client_with("customers", "orders", "draft_orders")
    page = with_orders.get(CHANGE, customer.pk).content.decode()
    url = f"{with_orders.url('orders_order_changelist')}?view=all&amp;customer__id__exact={customer.pk}"
    create = f"{with_orders.url('draft_orders_draftorder_add')}?customer={customer.pk}"

    assert f'<a href="{url}">1</a>' in page
    assert f'{with_orders.url("orders_order_change", order.pk)}">{order.name}</a>,' in page
    assert f'<a class="bo-button" href="{create}">Create order</a>' in page
    orders = with_orders.get("orders_order_changelist", view="all", customer__id__exact=str(customer.pk))
    assert [*orders.context["cl"].result_list] == [order]
    text = admin_client_with("customers").get(CHANGE, customer.pk).content.decode()
    assert "customer__id__exact" not in text
    assert "Create order" not in text
    assert order.name not in text


def test_orders_come_first_and_tabs_only_for_what_the_customer_has(
    admin_client_with: PanelWith, customer: Customer
) -> None:
    panel = admin_client_with("customers", "orders", "draft_orders", "gift_cards")
    for _ in range(6):
        Order.objects.filter(pk=make_order(customer.shop).pk).update(customer=customer)

    response = panel.get(CHANGE, customer.pk)

    page = response.content.decode()
    assert page.index("Latest orders") < page.index('name="first_name"')
    assert page.count("customer__id__exact") == 1
    titles = [str(formset.opts.verbose_name_plural) for formset in response.context["inline_admin_formsets"]]
    assert not {"orders", "draft orders", "gift cards"} & set(titles)
    DraftOrder.objects.filter(pk=make_draft_order().pk).update(customer=customer)
    formsets = panel.get(CHANGE, customer.pk).context["inline_admin_formsets"]
    assert "draft orders" in [str(formset.opts.verbose_name_plural) for formset in formsets]


def test_suggestions_find_customers_by_name_and_need_the_permission(admin_client_with: PanelWith) -> None:
    make_customer(first_name="Ada", last_name="Lovelace", email="ada@example.com")
    make_customer(first_name="Ada", last_name="Byron", email=None)
    panel = admin_client_with("customers")

    found = panel.get("customers_customer_suggestions", q="ada").json()["customers"]

    assert found == [{"email": "ada@example.com", "name": "Ada Lovelace"}]
    assert panel.get("customers_customer_suggestions", q="a").json()["customers"] == []
    assert admin_client_with("gift_cards").get("customers_customer_suggestions", q="ada").status_code == 403


def test_staff_add_a_customer(customer_client: Panel) -> None:
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
    stored = Customer.objects.values_list("email", "phone", "email_marketing_state", "default_address__country").get()
    assert stored == ("Bo@Example.com", "+14155550123", "subscribed", "Sweden")
    assert Event.objects.get(topic="customers/create").actor == f"staff:{customer_client.user.pk}"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"first_name": "", "last_name": "", "email": ""}, "Must have a name or email address."),
        ({"phone": "12"}, "Include the country code, such as +49 171 2345678."),
        ({"email": "taken@example.com"}, "Has already been taken."),
        ({"phone": "(415) 555-0199"}, "Has already been taken."),
        ({"sms_consent": "subscribed"}, "Needs a phone"),
    ],
)
def test_invalid_values_are_refused(
    customer_client: Panel, customer: Customer, fields: dict[str, str], says: str
) -> None:
    make_customer(email="taken@example.com", phone="+14155550199")

    response = send_form(customer_client, customer, **fields)

    assert response.status_code == 200
    assert says in response.content.decode()
    assert reload_customer(customer).email == "anna@example.com"


def test_staff_change_consents_and_the_history_shows_it(customer_client: Panel, customer: Customer) -> None:
    response = send_form(customer_client, customer, email_consent="subscribed", note="Nice")

    assert response.status_code == 302, response.context["adminform"].form.errors
    assert (reload_customer(customer).email_marketing_state, reload_customer(customer).note) == ("subscribed", "Nice")
    assert get_topics()[-2:] == ["customers_email_marketing_consent/update", "customers/update"]
    page = customer_client.get(CHANGE, customer.pk).content.decode()
    assert "consent history" in page.lower()
    assert customer_client.user.get_full_name() in page


def test_a_long_consent_history_shows_the_newest(customer_client: Panel, customer: Customer, shop: Shop) -> None:
    staff = get_staff_actor(customer_client.user)
    ConsentChange.objects.bulk_create(
        ConsentChange(shop=shop, customer=customer, channel="email", state="subscribed", actor=staff)
        for _ in range(100)
    )

    with CaptureQueriesContext(connection) as captured:
        page = customer_client.get(CHANGE, customer.pk)

    assert sum('"staff_user"."id" IN' in query["sql"] for query in captured) == 1
    formsets = [inline.formset for inline in page.context["inline_admin_formsets"]]
    assert [len(formset.forms) for formset in formsets if formset.model is ConsentChange] == [20]
    send_form(customer_client, customer, note="Nice")
    assert reload_customer(customer).note == "Nice"


def test_staff_change_addresses_within_the_form(customer_client: Panel, customer: Customer) -> None:
    first, second, third = (make_address(customer, city=city) for city in ("Lund", "Umeå", "Ystad"))
    rows = [
        build_address_row(first, DELETE="on"),
        build_address_row(second, is_default="on", city="Kiruna"),
        build_address_row(third),
        {"city": "Toronto", "country_code": "CA", "province": "ontario"},
    ]

    response = send_form(customer_client, customer, *rows)

    assert response.status_code == 302, response.context["errors"]
    assert list(Address.objects.order_by("id").values_list("city", flat=True)) == ["Kiruna", "Ystad", "Toronto"]
    assert Address.objects.get(city="Toronto").province_code == "ON"
    assert reload_customer(customer).default_address_id == second.pk


def test_the_default_address_stays_while_others_do(customer_client: Panel, customer: Customer) -> None:
    first, second = make_address(customer), make_address(customer)

    response = send_form(customer_client, customer, build_address_row(first, DELETE="on"), build_address_row(second))

    assert response.status_code == 200
    assert "default address while the customer has other addresses" in response.content.decode()
    assert Address.objects.count() == 2


def test_addresses_of_other_customers_are_refused(customer_client: Panel, customer: Customer) -> None:
    _, foreign = make_address(customer), make_address(make_customer())

    send_form(customer_client, customer, build_address_row(foreign, city="Stolen"))

    foreign.refresh_from_db()
    assert (foreign.city, foreign.customer_id == customer.pk) == ("Lund", False)


def test_a_customer_is_deleted_only_without_orders(customer_client: Panel, customer: Customer) -> None:
    Customer.objects.filter(pk=customer.pk).update(orders_count=1)
    assert "the orders are needed for bookkeeping" in post_and_follow(customer_client, "delete", customer)
    assert reload_customer(customer)

    Customer.objects.filter(pk=customer.pk).update(orders_count=0)
    post_and_follow(customer_client, "delete", customer)
    assert not Customer.objects.exists()
    assert get_topics()[-1] == "customers/delete"


def test_an_invitation_is_sent_and_a_bad_one_comes_back(customer_client: Panel, customer: Customer) -> None:
    arguments = "customers_customer_invite", customer.pk

    refused = customer_client.forge(*arguments, to="nobody", subject="")
    assert (refused.status_code, set(refused.context["form"].errors)) == (200, {"to", "subject"})
    assert reload_customer(customer).state == "disabled"

    assert customer_client.forge(*arguments, to="anna@example.com", subject="Come in").status_code == 302
    assert reload_customer(customer).state == "invited"
    assert Job.objects.filter(task="customers.send_invitation").count() == 1


def test_the_page_says_that_the_shop_has_no_accounts(customer_client: Panel, customer: Customer, shop: Shop) -> None:
    Shop.objects.filter(pk=shop.pk).update(customer_accounts="disabled")

    invite = customer_client.get("customers_customer_invite", customer.pk).content.decode()

    assert "turned off" in invite
    assert "Customer accounts are disabled." in post_and_follow(customer_client, "activation", customer)


def test_an_activation_link_is_shown_this_once(customer_client: Panel, customer: Customer) -> None:
    before = customer_client.get("customers_customer_activation", customer.pk).content
    response = customer_client.post("customers_customer_activation", customer.pk)
    after = customer_client.get("customers_customer_activation", customer.pk).content

    assert f"{settings.BASE_URL}/account/activate/acme/{customer.pk}/" in response.content.decode()
    assert "no-store" in response["Cache-Control"]
    assert b"/account/activate/" not in before + after


def test_an_account_is_disabled_after_asking(customer_client: Panel, customer: Customer) -> None:
    accounts.send_invite(reload_customer(customer), {}, actor="staff:1", at=timezone.now())

    assert customer_client.get("customers_customer_disable", customer.pk).status_code == 200
    assert "was disabled" in post_and_follow(customer_client, "disable", customer)
    assert "has no account" in post_and_follow(customer_client, "disable", customer)
    assert reload_customer(customer).state == "disabled"


def test_the_data_is_handed_over_as_a_file_and_noted(customer_client: Panel, customer: Customer) -> None:
    response = customer_client.post("customers_customer_data_export", customer.pk)

    assert response["Content-Disposition"] == f'attachment; filename="customer-{customer.pk}.json"'
    assert json.loads(response.content)["customer"]["email"] == "anna@example.com"
    assert get_topics()[-2:] == ["customers/export", "customers/data_request"]


def test_erasing_asks_for_the_number(customer_client: Panel, customer: Customer) -> None:
    wrong = customer_client.post("customers_customer_data_erase", customer.pk, confirm="0")
    email = reload_customer(customer).email
    customer_client.post("customers_customer_data_erase", customer.pk, confirm=str(customer.pk))

    assert "No data was erased" in wrong.content.decode()
    assert email == "anna@example.com"
    assert (reload_customer(customer).email, reload_customer(customer).redacted_at is None) == ("", False)
    assert "Erased" in customer_client.get(CHANGE, customer.pk).content.decode()

    update_customer(reload_customer(customer), {"email": "new@example.com"}, actor="staff:1", at=timezone.now())
    page = customer_client.get("customers_customer_data", customer.pk).content.decode()
    customer_client.post("customers_customer_data_erase", customer.pk, confirm=str(customer.pk))
    assert "You can erase data that was added after this date" in page
    assert reload_customer(customer).email == ""


def test_total_spent_has_the_shops_decimals(customer_client: Panel, customer: Customer, shop: Shop) -> None:
    Shop.objects.filter(pk=shop.pk).update(currency="JPY")
    Customer.objects.filter(pk=customer.pk).update(total_spent=140)

    text = " ".join(customer_client.get(CHANGE, customer.pk).content.decode().split())
    assert "<dt>Total spent</dt> <dd> 140 JPY </dd>" in text


def test_two_customers_are_compared_and_merged(customer_client: Panel, customer: Customer) -> None:
    other = make_customer(first_name="Anna", last_name="Lindqvist", email="anna@example.org", tags="wholesale")
    make_address(customer)
    make_address(other)

    assert b"anna@example.org" in customer_client.get("customers_customer_merge", customer.pk).content
    selected = customer_client.post(LIST, action="merge_chosen", _selected_action=[str(customer.pk), str(other.pk)])
    address = selected["Location"]
    assert address.endswith(f"/{customer.pk}/merge/with/?other={other.pk}")
    preview = customer_client.http.get(address)
    expected = (b"anna@example.com", b'name="choose-email"', b'name="choose-name"')
    assert [text in preview.content for text in expected] == [True, True, False]
    payload = {"form_key": preview.context["form_key"], "choose-email": "neither"}
    assert b"must be one of" in customer_client.http.post(address, payload).content
    merged = customer_client.http.post(address, {**payload, "choose-email": "other"}, follow=True)
    assert "Anna Lindqvist was merged into" in merged.content.decode()

    assert list(Customer.objects.values_list("email", "tags")) == [("anna@example.org", "vip, wholesale")]
    history = customer_client.get("customers_customer_history", customer.pk).content.decode()
    assert f"Customer {other.pk} was merged" in history
