import pytest

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.models import Address, Customer
from tests.support.api_client import ApiClient, Response, get_errors
from tests.support.factories.customers import make_address, make_customer, post_customer
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

FULL = {
    "first_name": "Anna",
    "last_name": "Lindqvist",
    "company": "Garn AB",
    "address1": "1 Rue des Carrières",
    "address2": "Suite 12",
    "city": "Montréal",
    "province": "Quebec",
    "country": "Canada",
    "zip": "H2Y 1C6",
    "phone": "819-555-5555",
}


@pytest.fixture
def customer(shop: Shop) -> Customer:
    with shop_scope(shop):
        return make_customer(email="anna@example.com")


def create_address(api: ApiClient, customer: Customer, **fields: object) -> JsonObject:
    response = api.post(f"customers/{customer.pk}/addresses.json", {"address": {**FULL, **fields}})
    assert response.status_code == 201, response.content
    return response.json()["customer_address"]


def get_customer(api: ApiClient, pk: int) -> JsonObject:
    return api.get(f"customers/{pk}.json").json()["customer"]


def test_answers_fit_the_wire_table(api: ApiClient, customer: Customer) -> None:
    base = f"customers/{customer.pk}/addresses"
    created = api.post(f"{base}.json", {"address": FULL})
    pk = created.json()["customer_address"]["id"]
    other = create_address(api, customer)["id"]

    assert created.status_code == 201
    assert created["Location"].endswith(f"/{base}/{pk}.json")
    for route, body in (
        ("POST /customers/{id}/addresses.json", created.json()),
        ("GET /customers/{id}/addresses.json", api.get(f"{base}.json").json()),
        ("GET /customers/{id}/addresses/{id}.json", api.get(f"{base}/{pk}.json").json()),
        ("PUT /customers/{id}/addresses/{id}.json", api.put(f"{base}/{pk}.json", {"address": {"zip": "H2Y"}}).json()),
        ("PUT /customers/{id}/addresses/{id}/default.json", api.put(f"{base}/{pk}/default.json").json()),
        ("DELETE /customers/{id}/addresses/{id}.json", api.delete(f"{base}/{other}.json").json()),
    ):
        assert_fits("customer_address", route, body)


@pytest.mark.parametrize(
    ("values", "expected_output"),
    [
        ({"country": "CA"}, ("Canada", "CA", "Quebec", "QC")),
        ({"country": None, "country_code": "CA"}, ("Canada", "CA", "Quebec", "QC")),
        ({"country": "canada", "province": "qc"}, ("Canada", "CA", "Quebec", "QC")),
        ({"province": None, "province_code": "ON"}, ("Canada", "CA", "Ontario", "ON")),
        ({"country": "Sweden", "province": None}, ("Sweden", "SE", None, None)),
        ({"country": "Sweden", "province": "Nowhere län"}, ("Sweden", "SE", "Nowhere län", None)),
    ],
)
def test_country_and_province_are_completed(
    api: ApiClient, customer: Customer, values: JsonObject, expected_output: tuple[str | None, ...]
) -> None:
    address = create_address(api, customer, **values)

    names = ("country", "country_code", "province", "province_code")
    assert tuple(address[name] for name in names) == expected_output
    assert address["country_name"] == address["country"]


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, {"address": ["can't be blank"]}),
        ({"country": "Atlantis"}, {"country": ["is not valid"]}),
        ({"country_code": "XX"}, {"country": ["is not valid"]}),
        ({"province": "Ontario"}, {"country": ["can't be blank"]}),
        ({"zip": ["1"], "city": True}, {"zip": ["is invalid"], "city": ["is invalid"]}),
    ],
)
def test_invalid_values_are_refused(
    api: ApiClient, shop: Shop, customer: Customer, body: JsonObject, errors: JsonObject
) -> None:
    response = api.post(f"customers/{customer.pk}/addresses.json", {"address": body})

    assert (response.status_code, response.json()) == (422, {"errors": errors})
    with shop_scope(shop):
        assert not Address.objects.exists()


def test_a_whole_name_is_taken_apart_where_no_part_is_given(api: ApiClient, customer: Customer) -> None:
    full = {"address1": "Storgatan 1", "name": "Anna Maria Lindqvist"}
    customer_address = api.post(f"customers/{customer.pk}/addresses.json", {"address": full}).json()["customer_address"]

    names = [customer_address[name] for name in ("first_name", "last_name", "name")]
    assert names == ["Anna Maria", "Lindqvist", full["name"]]
    assert create_address(api, customer, name="Somebody Else")["name"] == "Anna Lindqvist"


def test_the_name_that_answers_have_is_taken_as_a_wrapper(api: ApiClient, customer: Customer) -> None:
    assert api.post(f"customers/{customer.pk}/addresses.json", {"customer_address": FULL}).status_code == 201


def test_the_changed_one_of_a_code_and_its_name_counts(api: ApiClient, customer: Customer) -> None:
    address = create_address(api, customer)

    body = {**address, "country": "Sweden"}
    changed = api.put(f"customers/{customer.pk}/addresses/{address['id']}.json", {"address": body})

    expected = {"country_code": "SE", "province": None, "province_code": None, "city": address["city"]}
    assert {name: changed.json()["customer_address"][name] for name in expected} == expected


def test_the_first_address_is_the_default_until_another_is(api: ApiClient, customer: Customer) -> None:
    first, second = create_address(api, customer), create_address(api, customer)

    response = api.put(f"customers/{customer.pk}/addresses/{second['id']}/default.json")

    assert (first["default"], second["default"]) == (True, False)
    assert response.json()["customer_address"] == {**second, "default": True}
    displayed = get_customer(api, customer.pk)
    assert displayed["default_address"]["id"] == second["id"]
    assert {row["id"]: row["default"] for row in displayed["addresses"]} == {first["id"]: False, second["id"]: True}


def test_the_default_goes_last(api: ApiClient, customer: Customer) -> None:
    first, second = create_address(api, customer), create_address(api, customer)
    base = f"customers/{customer.pk}/addresses"

    refused = api.delete(f"{base}/{first['id']}.json")

    text = "Cannot delete the default address while the customer has other addresses"
    assert get_errors(refused) == {"base": [text]}
    assert [api.delete(f"{base}/{row['id']}.json").json() for row in (second, first)] == [{}, {}]
    assert get_customer(api, customer.pk)["default_address"] is None


def destroy(api: ApiClient, customer: Customer, *ids: int) -> Response:
    query = "".join(f"&address_ids[]={pk}" for pk in ids)
    return api.put(f"customers/{customer.pk}/addresses/set.json?operation=destroy{query}")


def list_ids(api: ApiClient, customer: Customer) -> list[int]:
    return [row["id"] for row in api.get(f"customers/{customer.pk}/addresses.json").json()["addresses"]]


def test_bulk_deletes_all_or_none(api: ApiClient, customer: Customer, shop: Shop) -> None:
    first, second, third = (create_address(api, customer)["id"] for _ in range(3))
    with shop_scope(shop):
        foreign = make_address(make_customer()).pk

    refused = [destroy(api, customer, second, foreign), destroy(api, customer, first, third)]
    ids = list_ids(api, customer)
    response = destroy(api, customer, second, third)

    assert [list(get_errors(answer)) for answer in refused] == [["address_ids"], ["base"]]
    assert (ids, list_ids(api, customer)) == ([first, second, third], [first])
    assert (response.status_code, response.json()) == (200, {})


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("address_ids[]=1", "operation"),
        ("operation=frobnicate&address_ids[]=1", "operation"),
        ("operation=destroy", "address_ids"),
        ("operation=destroy&address_ids[]=x", "address_ids"),
        ("operation=destroy&address_ids[]=9223372036854775808", "address_ids"),
        ("operation=destroy&" + "&".join(["address_ids[]=1"] * 251), "address_ids"),
    ],
)
def test_bulk_refuses_an_invalid_query(api: ApiClient, customer: Customer, query: str, parameter: str) -> None:
    response = api.put(f"customers/{customer.pk}/addresses/set.json?{query}")

    assert (response.status_code, list(response.json()["errors"])) == (400, [parameter])


def test_an_address_of_another_customer_is_404(api: ApiClient, shop: Shop, customer: Customer) -> None:
    with shop_scope(shop):
        foreign = make_address(make_customer())
    path = f"customers/{customer.pk}/addresses/{foreign.pk}"

    answers = [
        api.get(f"{path}.json"),
        api.put(f"{path}.json", {"address": {"city": "Lund"}}),
        api.put(f"{path}/default.json"),
        api.delete(f"{path}.json"),
    ]

    assert [response.status_code for response in answers] == [404] * 4


def test_a_changed_address_moves_the_customer(api: ApiClient, shop: Shop, customer: Customer) -> None:
    path, base = f"customers/{customer.pk}.json", f"customers/{customer.pk}/addresses"
    e_tags = {api.get(path)["ETag"]}

    address = create_address(api, customer)
    e_tags.add(api.get(path)["ETag"])
    api.put(f"{base}/{address['id']}.json", {"address": {"city": "Lund"}})
    changed = api.get(path)
    api.delete(f"{base}/{address['id']}.json")
    e_tags |= {changed["ETag"], api.get(path)["ETag"]}

    assert len(e_tags) == 4
    assert changed.json()["customer"]["addresses"][0]["city"] == "Lund"
    with shop_scope(shop):
        assert Event.objects.filter(topic="customers/update", subject_id=customer.pk).count() == 3


def create_customer_with_addresses(api: ApiClient, *addresses: JsonObject) -> JsonObject:
    return post_customer(api, first_name="Ann", addresses=list(addresses))


def test_addresses_of_a_changed_customer_are_set(api: ApiClient) -> None:
    new_customer = create_customer_with_addresses(
        api, {"address1": "Stays"}, {"address1": "Changes"}, {"address1": "Goes"}
    )
    by_line = {address["address1"]: address for address in new_customer["addresses"]}
    stays = [by_line["Stays"], by_line["Changes"] | {"address1": "Changed"}, {"address1": "New", "country": "Sweden"}]

    changed = api.put(f"customers/{new_customer['id']}.json", {"customer": {"addresses": stays}}).json()["customer"]

    after = {address["address1"]: address for address in changed["addresses"]}
    assert after.keys() == {"Changed", "New", "Stays"}
    assert [after[line]["id"] for line in ("Stays", "Changed")] == [
        by_line[line]["id"] for line in ("Stays", "Changes")
    ]
    assert (changed["default_address"]["address1"], after["New"]["country_code"]) == ("Stays", "SE")


def test_the_first_address_becomes_default_when_the_default_is_deleted(api: ApiClient) -> None:
    new_customer = create_customer_with_addresses(api, {"address1": "Old"}, {"address1": "Other"})

    path = f"customers/{new_customer['id']}.json"
    changed = api.put(path, {"customer": {"addresses": [{"address1": "First"}, {"address1": "Second"}]}}).json()
    emptied = api.put(path, {"customer": {"addresses": []}}).json()

    assert changed["customer"]["default_address"]["address1"] == "First"
    assert (emptied["customer"]["addresses"], emptied["customer"].get("default_address")) == ([], None)


def test_addresses_that_a_customer_does_not_list_stay(api: ApiClient, shop: Shop) -> None:
    """Check a customer with twelve addresses: a client sends back the JSON, which lists only ten."""
    new_customer = create_customer_with_addresses(api, *({"address1": f"{number} Street"} for number in range(12)))
    shown = get_customer(api, new_customer["id"])["addresses"]

    api.put(f"customers/{new_customer['id']}.json", {"customer": {"addresses": shown[:9]}})

    with shop_scope(shop):
        assert Address.objects.count() == 11


@pytest.mark.parametrize(
    "value", ["x", [1], [{"id": 2**40, "address1": "A"}], [{"address1": "A", "country": "Nowhere"}], [{}]]
)
def test_addresses_that_do_not_fit_change_nothing(api: ApiClient, value: object) -> None:
    new_customer = create_customer_with_addresses(api, {"address1": "Stays"})

    refused = api.put(f"customers/{new_customer['id']}.json", {"customer": {"note": "x", "addresses": value}})

    assert all(name.startswith("addresses") for name in get_errors(refused))
    assert get_customer(api, new_customer["id"]) == new_customer


def test_an_address_can_be_named_once(api: ApiClient) -> None:
    new_customer = create_customer_with_addresses(api, {"address1": "A"})
    twice = [new_customer["addresses"][0], new_customer["addresses"][0] | {"address1": "B"}]

    refused = api.put(f"customers/{new_customer['id']}.json", {"customer": {"addresses": twice}})

    assert refused.json() == {"errors": {"addresses.1.id": ["is invalid"]}}


@pytest.mark.parametrize(
    "field", ["first_name", "last_name", "company", "address1", "address2", "city", "zip", "phone"]
)
def test_an_address_line_comes_back_blank_or_absent_as_sent(api: ApiClient, field: str) -> None:
    other = "city" if field == "address1" else "address1"
    customer = create_customer_with_addresses(api, {other: "Main Street", field: ""})
    path = f"customers/{customer['id']}/addresses"
    blank, absent = customer["addresses"][0], api.post(f"{path}.json", {"address": {other: "B", field: None}}).json()

    assert blank[field] == ""
    assert absent["customer_address"][field] is None
    changed = api.put(f"{path}/{blank['id']}.json", {"address": {field: None}}).json()["customer_address"]
    assert changed[field] is None


def test_an_order_shows_its_address_with_blank_lines_as_they_were_sent(api: ApiClient) -> None:
    address = {"address1": "Main Street", "country": "Canada", "address2": "", "company": ""}
    body = {"order": {"line_items": [{"title": "Mug", "price": "1.00", "quantity": 1}], "shipping_address": address}}

    shown = api.post("orders.json", body).json()["order"]["shipping_address"]

    assert [shown[name] for name in ("address2", "company", "city")] == ["", "", None]


def test_the_longest_names_are_taken_back_and_longer_ones_refused(api: ApiClient, customer: Customer) -> None:
    longest = "x" * 255
    address = create_address(api, customer, first_name=longest, last_name=longest)
    path = f"customers/{customer.pk}/addresses/{address['id']}.json"

    assert address["name"] == f"{longest} {longest}"
    assert api.put(path, {"address": address}).json()["customer_address"]["name"] == address["name"]
    renamed = api.put(path, {"address": {"name": f"{longest} y"}}).json()["customer_address"]
    assert (renamed["first_name"], renamed["last_name"]) == (longest, "y")
    for name in (f"{longest}x", f"{longest}x y", f"y {longest}x"):
        refused = api.put(path, {"address": {"name": name}})
        assert get_errors(refused) == {"name": ["is too long (maximum is 255 characters)"]}
