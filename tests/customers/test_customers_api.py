import pytest

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.models import Customer
from tests.support.api_client import ApiClient
from tests.support.factories.customers import make_address, make_customer, post_customer
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

ADDRESS = {
    "first_name": "Anna",
    "last_name": "Lindqvist",
    "company": "Garn AB",
    "address1": "Storgatan 1",
    "address2": "Uppgång B",
    "city": "Lund",
    "province": "Skåne län",
    "country": "Sweden",
    "zip": "222 22",
    "phone": "046-12 34 56",
}
FULL = {
    "first_name": "Anna",
    "last_name": "Lindqvist",
    "email": "Anna.L@Example.com",
    "phone": "+46 8 123 456 78",
    "verified_email": True,
    "note": "Likes wool.",
    "tags": "vip, Knitter, VIP",
    "tax_exempt": True,
    "tax_exemptions": ["CA_STATUS_CARD_EXEMPTION"],
    "addresses": [ADDRESS],
}


@pytest.mark.parametrize(
    "fields",
    [
        {"first_name": "Ada"},
        FULL,
        {"email": "ada@example.com", "tags": "b, a", "note": None, "last_name": ""},
        {"email": "ada@example.com", "send_email_invite": True, "addresses": []},
        {"email": "ada@example.com", "password": "correct horse", "password_confirmation": "correct horse"},
        {"first_name": "Ada", "addresses": [{"city": f"Town {number}", "country": "SE"} for number in range(12)]},
        {"first_name": "A", "metafields": [{"namespace": "a", "key": "b", "value": "1", "type": "number_integer"}]},
        {
            "email": "ada@example.com",
            "phone": "+46812345678",
            "email_marketing_consent": {"state": "subscribed", "consent_updated_at": "2026-01-02T03:04:05-05:00"},
            "sms_marketing_consent": {"state": "subscribed", "opt_in_level": "confirmed_opt_in"},
        },
        {"email": "a@example.com", "accepts_marketing": True, "addresses": [{"name": "Ada King", "country": "Canada"}]},
    ],
)
def test_create_answers_what_is_stored(api: ApiClient, fields: JsonObject) -> None:
    customer = post_customer(api, **fields)

    assert api.get(f"customers/{customer['id']}.json").json()["customer"] == customer


def test_create_answers_every_field_of_the_table(api: ApiClient) -> None:
    response = api.post("customers.json", {"customer": FULL})

    body = response.json()
    assert response.status_code == 201
    assert response["Location"].endswith(f"/customers/{body['customer']['id']}.json")
    customer = body["customer"]
    expected = {
        "tags": "Knitter, vip",
        "email": "Anna.L@Example.com",
        "phone": "+46812345678",
        "state": "disabled",
        "total_spent": "0.00",
        "currency": "USD",
        "default_address": customer["addresses"][0],
    }
    assert {name: customer[name] for name in expected} == expected
    assert customer["addresses"][0] | {"id": 0} == {
        **ADDRESS,
        "id": 0,
        "customer_id": customer["id"],
        "name": "Anna Lindqvist",
        "province_code": "M",
        "country_code": "SE",
        "country_name": "Sweden",
        "default": True,
    }


def test_answers_fit_the_wire_table(api: ApiClient, shop: Shop) -> None:
    created = api.post("customers.json", {"customer": {**FULL, "metafields": []}}).json()
    pk = created["customer"]["id"]
    path, invite = f"customers/{pk}", {"customer_invite": {"custom_message": "Hi"}}
    with shop_scope(shop):
        Customer.objects.filter(pk=pk).update(last_order_id=450, last_order_name="#1001", multipass_identifier="m")

    for route, body in (
        ("POST /customers.json", created),
        ("GET /customers.json", api.get("customers.json").json()),
        ("GET /customers/{id}.json", api.get(f"{path}.json").json()),
        ("GET /customers/count.json", api.get("customers/count.json").json()),
        ("GET /customers/search.json", api.get("customers/search.json", query="anna").json()),
        ("PUT /customers/{id}.json", api.put(f"{path}.json", {"customer": {"note": "New"}}).json()),
        ("POST /customers/{id}/account_activation_url.json", api.post(f"{path}/account_activation_url.json").json()),
        ("POST /customers/{id}/send_invite.json", api.post(f"{path}/send_invite.json", invite).json()),
        ("DELETE /customers/{id}.json", api.delete(f"{path}.json").json()),
    ):
        assert_fits("customer", route, body)
        assert body or route.startswith("DELETE")


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, {"customer": ["must have a name or email address"]}),
        ({"phone": "+14155550123"}, {"customer": ["must have a name or email address"]}),
        ({"first_name": "  "}, {"customer": ["must have a name or email address"]}),
        ({"email": "no address"}, {"email": ["is invalid"]}),
        ({"email": 5, "first_name": []}, {"email": ["is invalid"], "first_name": ["is invalid"]}),
        ({"first_name": "A", "phone": "12"}, {"phone": ["is invalid"]}),
        ({"email": "x", "phone": "call me"}, {"email": ["is invalid"], "phone": ["is invalid"]}),
        ({"first_name": "A", "tax_exemptions": "x"}, {"tax_exemptions": ["is invalid"]}),
        (
            {"email": "a@example.com", "accepts_marketing": True, "marketing_opt_in_level": "double"},
            {"marketing_opt_in_level": ["is not included in the list"]},
        ),
        ({"first_name": "A", "password": "1234"}, {"password": ["is too short (minimum is 5 characters)"]}),
        ({"first_name": "A", "password": "x" * 73}, {"password": ["is too long (maximum is 72 characters)"]}),
        (
            {"first_name": "A", "password": "secret", "password_confirmation": "Secret"},
            {"password_confirmation": ["doesn't match Password"]},
        ),
        ({"first_name": "A", "addresses": {}}, {"addresses": ["is invalid"]}),
        ({"first_name": "A", "addresses": [5]}, {"addresses.0": ["is invalid"]}),
        (
            {"first_name": "A", "addresses": [{"country": "Sweden"}, {"country": "Atlantis", "zip": []}]},
            {"addresses.1.zip": ["is invalid"]},
        ),
        (
            {"first_name": "A", "addresses": [{"country": "Sweden"}, {"country": "Atlantis"}]},
            {"addresses.1.country": ["is not valid"]},
        ),
        ({"first_name": "A", "addresses": [{}]}, {"addresses.0.address": ["can't be blank"]}),
        ({"first_name": "A", "send_email_invite": True}, {"email": ["can't be blank"]}),
    ],
)
def test_create_refuses_what_does_not_fit(api: ApiClient, shop: Shop, body: JsonObject, errors: JsonObject) -> None:
    response = api.post("customers.json", {"customer": body})

    assert (response.status_code, response.json()) == (422, {"errors": errors})
    with shop_scope(shop):
        assert not Customer.objects.exists()
        assert not Event.objects.filter(topic__startswith="customers").exists()


def test_an_email_domain_that_is_too_long_in_ascii_is_refused(api: ApiClient) -> None:
    label = "".join(chr(0x4E00 + 97 * n % 0x4F00) for n in range(16))
    email = f"ada@{'.'.join([label] * 14)}.example"
    assert len(email) <= 255

    customer = api.post("customers.json", {"customer": {"email": email}})
    order = api.post("orders.json", {"order": {"email": email, "line_items": [{"title": "Mug", "price": "1.00"}]}})

    assert customer.json() == order.json() == {"errors": {"email": ["is invalid"]}}


@pytest.mark.parametrize(
    ("field", "taken", "spellings"),
    [
        ("email", "Anna@example.com", "anna@example.com|ANNA@example.com| anna@EXAMPLE.com |anna@Example.COM"),
        ("email", "anna@bücher.example", "anna@bu\u0308cher.example|anna@xn--bcher-kva.example|anna@BÜCHER.example"),
        ("phone", "+1 415-555-0123", "+14155550123|415 555 0123|(415) 555-0123|415 555 0123"),
    ],
    ids=["case and blanks", "Unicode forms", "phone"],
)
def test_a_contact_is_taken_in_any_spelling(api: ApiClient, field: str, taken: str, spellings: str) -> None:
    post_customer(api, first_name="A", **{field: taken})

    answers = [
        api.post("customers.json", {"customer": {"first_name": "B", field: text}}) for text in spellings.split("|")
    ]

    refusal = (422, {"errors": {field: ["has already been taken"]}})
    assert [(answer.status_code, answer.json()) for answer in answers] == [refusal] * len(answers)


def test_national_phones_are_read_in_the_country_of_the_address(api: ApiClient) -> None:
    berlin = post_customer(api, first_name="Ada", phone="030 123456", addresses=[{"city": "Berlin", "country": "DE"}])
    fits_only_the_shop = post_customer(api, first_name="Ada", phone="415 555 0123", addresses=[{"country": "Andorra"}])
    changed = api.put(f"customers/{berlin['id']}.json", {"customer": {"phone": "040 765432"}})

    assert (berlin["phone"], fits_only_the_shop["phone"]) == ("+4930123456", "+14155550123")
    assert changed.json()["customer"]["phone"] == "+4940765432"


def test_a_taken_email_and_a_taken_phone_are_reported_together(api: ApiClient, other_shop_api: ApiClient) -> None:
    post_customer(api, email="anna@example.com")
    post_customer(api, first_name="B", phone="+14155550123")
    post_customer(other_shop_api, email="other@example.com")
    changed = post_customer(api, email="c@example.com")
    both = {"email": "ANNA@example.com", "phone": "(415) 555-0123"}
    texts = ["has already been taken"]

    answers = [
        api.post("customers.json", {"customer": both}),
        api.post("customers.json", {"customer": both}, Idempotency_Key="once"),
        api.put(f"customers/{changed['id']}.json", {"customer": both}),
    ]
    beside = api.post("customers.json", {"customer": {**both, "email": "no address", "note": "a" * 5001}})
    elsewhere = api.post("customers.json", {"customer": {**both, "email": "other@example.com"}})

    expected = (422, {"errors": {"email": texts, "phone": texts}})
    assert [(response.status_code, response.json()) for response in answers] == [expected] * 3
    assert beside.json()["errors"] == {
        "email": ["is invalid"],
        "phone": texts,
        "note": ["is too long (maximum is 5000 characters)"],
    }
    assert elsewhere.json() == {"errors": {"phone": texts}}
    assert api.get("customers/count.json").json() == {"count": 3}
    assert api.get(f"customers/{changed['id']}.json").json()["customer"] == changed


def test_contacts_collide_in_one_shop_only_and_blank_ones_never(api: ApiClient, other_shop_api: ApiClient) -> None:
    contact = {"email": "anna@example.com", "phone": "+14155550123"}

    created = [post_customer(client, **contact) for client in (api, other_shop_api)]
    blank = [post_customer(api, first_name="A") for _ in range(2)]

    assert [(row["email"], row["phone"]) for row in created + blank] == [tuple(contact.values())] * 2 + [
        (None, None)
    ] * 2


def test_update_changes_what_the_body_names_and_nothing_else(api: ApiClient) -> None:
    before = post_customer(api, **FULL)
    body = {"id": 1, "note": None, "tags": "new", "orders_count": 7, "total_spent": "5.00", "state": "enabled"}

    response = api.put(f"customers/{before['id']}.json", {"customer": body})

    after = response.json()["customer"]
    assert response.status_code == 200
    assert after | {"updated_at": before["updated_at"]} == before | {"note": None, "tags": "new"}
    assert api.get(f"customers/{before['id']}.json").json()["customer"] == after


def test_null_means_none_in_every_field_that_may_be_absent(api: ApiClient) -> None:
    customer = post_customer(api, email="a@example.com", tax_exemptions=["CA_STATUS_CARD_EXEMPTION"])
    nulls = dict.fromkeys(name for name in customer if name not in {"email", "verified_email", "tax_exempt"})

    created = post_customer(api, email="b@example.com", **nulls)
    response = api.put(f"customers/{customer['id']}.json", {"customer": nulls})

    assert (response.status_code, response.json()["customer"]["tax_exemptions"]) == (200, [])
    assert [created[name] for name in ("tax_exemptions", "tags", "addresses", "note")] == [[], "", [], None]


def test_update_cannot_take_the_last_name_away(api: ApiClient) -> None:
    customer = post_customer(api, first_name="Anna")

    response = api.put(f"customers/{customer['id']}.json", {"customer": {"first_name": ""}})

    errors = {"customer": ["must have a name or email address"]}
    assert (response.status_code, response.json()) == (422, {"errors": errors})


def test_update_ignores_what_only_a_create_takes(api: ApiClient, shop: Shop) -> None:
    customer = post_customer(api, email="a@example.com")

    api.put(f"customers/{customer['id']}.json", {"customer": {"password": "secret", "send_email_invite": True}})

    with shop_scope(shop):
        row = Customer.objects.get(pk=customer["id"])
        assert (row.password, row.state) == ("", "disabled")


def test_a_changed_email_is_not_verified_any_more(api: ApiClient) -> None:
    customer = post_customer(api, email="a@example.com", verified_email=True)

    changed = api.put(f"customers/{customer['id']}.json", {"customer": {"email": "b@example.com"}}).json()["customer"]

    assert changed["verified_email"] is False


def test_delete_removes_the_customer_and_all_below(api: ApiClient) -> None:
    customer = post_customer(api, **FULL)

    response = api.delete(f"customers/{customer['id']}.json")

    assert (response.status_code, response.json()) == (200, {})
    assert api.get(f"customers/{customer['id']}.json").status_code == 404
    assert post_customer(api, email=FULL["email"])["id"] != customer["id"]


def test_delete_with_orders_is_refused(api: ApiClient, shop: Shop) -> None:
    customer = post_customer(api, email="a@example.com")
    with shop_scope(shop):
        Customer.objects.filter(pk=customer["id"]).update(orders_count=1)

    response = api.delete(f"customers/{customer['id']}.json")

    assert (response.status_code, response.json()) == (422, {"errors": {"base": ["Error deleting customer"]}})
    assert api.get(f"customers/{customer['id']}.json").status_code == 200


def test_list_is_newest_first_and_takes_the_filters(api: ApiClient) -> None:
    ids = [post_customer(api, email=f"{name}@example.com")["id"] for name in "abc"]

    def list_ids(**query: object) -> list[int]:
        return [row["id"] for row in api.get("customers.json", **query).json()["customers"]]

    assert list_ids() == ids[::-1]
    assert list_ids(ids=f"{ids[0]}, {ids[2]}") == [ids[2], ids[0]]
    assert list_ids(since_id=ids[0]) == ids[1:]
    assert list_ids(updated_at_min="2999-01-01") == []
    assert api.get("customers/count.json").json() == {"count": 3}
    assert api.get("customers/count.json", created_at_min="2999-01-01").json() == {"count": 0}


def test_the_ten_most_recently_updated_addresses_are_shown(api: ApiClient, shop: Shop) -> None:
    customer = post_customer(api, email="a@example.com")
    with shop_scope(shop):
        row = Customer.objects.get(pk=customer["id"])
        addresses = [make_address(row, address1=f"Street {number}") for number in range(12)]
        addresses[0].refresh_from_db()
        addresses[0].save()

    displayed_customer = api.get(f"customers/{customer['id']}.json").json()["customer"]

    ids = [item["id"] for item in displayed_customer["addresses"]]
    assert ids == [addresses[0].pk, *(row.pk for row in addresses[:2:-1])]
    assert displayed_customer["default_address"]["id"] == addresses[0].pk


def test_currency_is_the_last_orders(api: ApiClient, shop: Shop) -> None:
    customer = post_customer(api, email="a@example.com")
    with shop_scope(shop):
        Customer.objects.filter(pk=customer["id"]).update(last_order_currency="JPY", total_spent="12.5")

    displayed_customer = api.get(f"customers/{customer['id']}.json").json()["customer"]

    assert (displayed_customer["currency"], displayed_customer["total_spent"]) == ("JPY", "12.50")


def test_every_change_writes_one_event_without_personal_data(api: ApiClient, shop: Shop) -> None:
    customer = post_customer(api, email="secret-mail@example.com", first_name="Secretname")
    api.put(f"customers/{customer['id']}.json", {"customer": {"email": "other-secret@example.com", "tags": "x"}})
    api.delete(f"customers/{customer['id']}.json")

    with shop_scope(shop):
        events = list(Event.objects.filter(subject_type="customers.customer").order_by("id"))
    assert [event.topic for event in events] == ["customers/create", "customers/update", "customers/delete"]
    assert {event.actor for event in events} == {f"app:{api.installation.app_id}"}
    assert events[1].changes == {"email": ["(hidden)", "(hidden)"], "tags": ["", "(hidden)"]}
    assert {event.subject_label for event in events} == {f"Customer {customer['id']}"}


def test_tags_of_all_customers_are_listed_once(api: ApiClient, other_shop: Shop) -> None:
    for tags in ("wholesale, Snow", "snow, apple", "snow", ""):
        post_customer(api, first_name="Ada", tags=tags)
    with shop_scope(other_shop):
        make_customer(tags="foreign")

    assert api.get("customers/tags.json").json() == {"tags": ["apple", "snow", "wholesale"]}
    assert api.get("customers/tags.json", popular=1, limit=1).json() == {"tags": ["snow"]}
    assert api.get("customers/tags.json", limit=0).status_code == 400
