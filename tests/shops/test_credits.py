import pytest

from apps.shops.models import ApplicationCredit
from tests.support.api_client import ApiClient, ClientWith, get_errors
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

pytestmark = pytest.mark.usefixtures("in_shop")
PATH = "application_credits.json"


def create_credit(api: ApiClient, **fields: object) -> JsonObject:
    response = api.post(PATH, {"application_credit": {"description": "Refund of May", "amount": 5, **fields}})
    assert response.status_code == 201, response.content
    return response.json()["application_credit"]


def test_apps_grant_credits_in_the_shop_currency(api: ApiClient) -> None:
    credit = create_credit(api)

    listed, one = api.get(PATH).json(), api.get(f"application_credits/{credit['id']}.json").json()
    assert_fits("application_credit", f"GET /{PATH}", listed)
    assert_fits("application_credit", "GET /application_credits/{id}.json", one)
    assert (listed, one) == ({"application_credits": [credit]}, {"application_credit": credit})
    assert (credit["amount"], credit["test"]) == ("5.00", None)
    assert credit["currency"] == api.get("shop.json").json()["shop"]["currency"]
    assert create_credit(api, test=True)["test"] is True


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"amount": 0}, "amount"),
        ({"amount": "-1"}, "amount"),
        ({"amount": "1.234"}, "amount"),
        ({"amount": None}, "amount"),
        ({"description": ""}, "description"),
    ],
)
def test_invalid_credits_are_refused(api: ApiClient, fields: dict[str, object], field: str) -> None:
    response = api.post(PATH, {"application_credit": {"description": "Refund of May", "amount": "5.00", **fields}})

    assert (response.status_code, list(get_errors(response))) == (422, [field])
    assert not ApplicationCredit.objects.exists()


def test_credits_cannot_be_changed(api: ApiClient) -> None:
    path = f"application_credits/{create_credit(api)['id']}.json"

    assert api.put(path, {"application_credit": {"amount": "9.00"}}).status_code == 405
    assert api.delete(path).status_code == 405


def test_each_app_sees_its_own_credits(api: ApiClient, client_with: ClientWith) -> None:
    pk, other = create_credit(api)["id"], client_with()

    assert other.get(PATH).json() == {"application_credits": []}
    assert other.get(f"application_credits/{pk}.json").status_code == 404
