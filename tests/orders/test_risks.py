import pytest
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.customers.domain import personal_data
from apps.customers.models import Customer
from apps.orders.models import Order, OrderRisk
from tests.support.api_client import ApiClient, ClientWith, get_errors
from tests.support.factories.orders import make_order
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

pytestmark = pytest.mark.usefixtures("in_shop")

RISK = {
    "message": "Paid from abroad",
    "score": 1.0,
    "recommendation": "cancel",
    "source": "Radar",
    "cause_cancel": True,
}


@pytest.fixture
def order(shop: Shop) -> Order:
    return make_order(shop, email="ada@example.com")


def add_risk(api: ApiClient, order: Order, **fields: object) -> JsonObject:
    response = api.post(f"orders/{order.pk}/risks.json", {"risk": {**RISK, **fields}})
    assert response.status_code == 201, response.content
    assert_fits("order_risk", "GET /orders/{id}/risks/{id}.json", response.json())
    return response.json()["risk"]


def test_a_risk_is_stored_changed_and_deleted(api: ApiClient, order: Order) -> None:
    risk = add_risk(api, order)
    path = f"orders/{order.pk}/risks/{risk['id']}.json"

    assert risk == {
        "id": risk["id"],
        "order_id": order.pk,
        "checkout_id": None,
        "source": "Radar",
        "score": "1.0",
        "recommendation": "cancel",
        "display": True,
        "cause_cancel": True,
        "message": "Paid from abroad",
        "merchant_message": "Paid from abroad",
    }
    changed = api.put(path, {"risk": {"score": 0.25, "recommendation": "accept"}}).json()
    assert_fits("order_risk", "PUT /orders/{id}/risks/{id}.json", changed)
    assert (changed["risk"]["score"], changed["risk"]["recommendation"]) == ("0.25", "accept")
    assert api.get(f"orders/{order.pk}/risks.json").json() == {"risks": [changed["risk"]]}
    assert api.delete(path).json() == {}
    assert api.get(path).status_code == 404
    messages = [
        str(event.message) for event in Event.objects.filter(topic="orders/risk_assessment_changed").order_by("pk")
    ]
    assert messages == [
        "Risk assessment by Radar: Cancel",
        "Risk assessment by Radar: Accept",
        "Risk assessment by Radar removed",
    ]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("score", "1.001", "must be less than or equal to 1"),
        ("score", -1, "must be greater than or equal to 0"),
        ("score", None, "can't be blank"),
        ("score", "high", "is invalid"),
        ("recommendation", "flee", "is not included in the list"),
        ("message", "", "can't be blank"),
        ("message", "a" * 1001, "is too long (maximum is 1000 characters)"),
    ],
)
def test_invalid_risks_are_refused(api: ApiClient, order: Order, field: str, value: object, message: str) -> None:
    response = api.post(f"orders/{order.pk}/risks.json", {"risk": {**RISK, field: value}})

    assert (response.status_code, get_errors(response)) == (422, {field: [message]})
    assert not OrderRisk.objects.exists()


def test_a_risk_belongs_to_its_order(api: ApiClient, order: Order, shop: Shop) -> None:
    other = make_order(shop)
    risk = add_risk(api, order)

    assert api.get(f"orders/{other.pk}/risks/{risk['id']}.json").status_code == 404
    assert api.get(f"orders/{other.pk}/risks.json").json() == {"risks": []}


def test_reading_needs_the_scope(client_with: ClientWith, order: Order) -> None:
    assert client_with("read_products").get(f"orders/{order.pk}/risks.json").status_code == 403
    reader = client_with("read_orders")
    assert reader.post(f"orders/{order.pk}/risks.json", {"risk": RISK}).status_code == 403


def test_erasing_the_customer_clears_the_messages(api: ApiClient, order: Order) -> None:
    add_risk(api, order, message="Ada Lovelace has two accounts")
    api.post(f"orders/{order.pk}/close.json")

    personal_data.redact_customer(Customer.objects.get(), actor="system", at=timezone.now())

    risk = OrderRisk.objects.get()
    assert (risk.message, risk.recommendation) == ("", "cancel")
