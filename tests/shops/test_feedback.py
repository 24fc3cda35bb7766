from typing import Any

import pytest
from django.utils import timezone

from apps.catalog.models import Product, ProductFeedback
from apps.core.tenancy.models import Shop
from apps.shops.domain import app_installation
from apps.shops.models import ShopFeedback
from tests.support.api_client import ApiClient, ClientWith, Response, get_errors
from tests.support.factories.catalog import make_product
from tests.support.wire_tables import assert_fits

pytestmark = pytest.mark.usefixtures("in_shop")
PATH = "resource_feedback.json"


def send(api: ApiClient, path: str = PATH, **fields: object) -> Response:
    feedback = {
        "state": "requires_action",
        "messages": ["Connect your account."],
        "feedback_generated_at": "2026-03-01T10:00:00Z",
        "resource_updated_at": "2026-03-01T09:00:00Z",
    }
    return api.post(path, {"resource_feedback": {**feedback, **fields}})


@pytest.fixture
def product() -> Product:
    return make_product()


def test_feedback_about_the_shop_replaces_earlier_feedback(api: ApiClient, shop: Shop) -> None:
    first = send(api)
    send(api, state="success", feedback_generated_at="2026-03-02T10:00:00Z")

    assert first.status_code == 202
    assert_fits("resource_feedback", f"POST /{PATH}", first.json())
    (row,) = api.get(PATH).json()["resource_feedback"]
    assert (row["state"], row["messages"], row["resource_id"], row["resource_type"]) == ("success", [], shop.pk, "Shop")


def test_feedback_about_a_product(api: ApiClient, product: Product) -> None:
    path = f"products/{product.pk}/resource_feedback.json"

    response = send(api, path)

    assert response.status_code == 202, response.content
    assert_fits("product_resource_feedback", "POST /products/{id}/resource_feedback.json", response.json())
    listed = api.get(path).json()
    assert_fits("product_resource_feedback", "GET /products/{id}/resource_feedback.json", listed)
    assert listed["resource_feedback"] == [response.json()["resource_feedback"]]
    assert api.get(PATH).json() == {"resource_feedback": []}


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"state": "fine"}, {"state": ["is not included in the list"]}),
        ({"messages": []}, {"messages": ["can't be blank"]}),
        ({"messages": ["a" * 101]}, {"messages.0": ["is too long (maximum is 100 characters)"]}),
        ({"messages": "Connect"}, {"messages": ["is invalid"]}),
        ({"feedback_generated_at": None}, {"feedback_generated_at": ["can't be blank"]}),
    ],
)
def test_invalid_feedback_is_refused(api: ApiClient, fields: dict[str, Any], errors: dict[str, object]) -> None:
    response = send(api, **fields)

    assert (response.status_code, get_errors(response)) == (422, errors)
    assert not ShopFeedback.objects.exists()


def test_outdated_feedback_is_refused(api: ApiClient) -> None:
    send(api)

    response = send(api, state="success", feedback_generated_at="2026-03-01T09:59:59Z")

    message = "is before the time of the current feedback"
    assert (response.status_code, get_errors(response)) == (422, {"feedback_generated_at": [message]})
    assert ShopFeedback.objects.get().state == "requires_action"


def test_each_app_sees_its_own_feedback(api: ApiClient, client_with: ClientWith, product: Product) -> None:
    path = f"products/{product.pk}/resource_feedback.json"
    send(api)
    send(api, path)

    other = client_with("write_resource_feedbacks")
    assert other.get(PATH).json() == {"resource_feedback": []}
    assert other.get(path).json() == {"resource_feedback": []}
    send(other, state="success")
    assert api.get(PATH).json()["resource_feedback"][0]["state"] == "requires_action"


def test_uninstalling_the_app_deletes_its_feedback(api: ApiClient, product: Product) -> None:
    send(api)
    send(api, f"products/{product.pk}/resource_feedback.json")

    app_installation.uninstall_app(api.installation, actor="system", at=timezone.now())

    assert not ShopFeedback.objects.exists()
    assert not ProductFeedback.objects.exists()
