from decimal import Decimal
from typing import Any

import pytest
from django.core.mail import EmailMessage
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from apps.core.jobs import queue as jobs
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.orders.domain import transitions
from apps.orders.models import Order
from tests.support.api_client import ApiClient, Response
from tests.support.factories.orders import make_order

pytestmark = pytest.mark.usefixtures("in_shop")

NAMES = {"first_name": "Ada", "last_name": "Lovelace"}
STREET = {"address1": "1 Main Street", "zip": "K1A 0B1", "phone": "555-0100"}
ADDRESS = {**NAMES, **STREET, "city": "Ottawa", "country": "Canada"}


@pytest.fixture
def order(shop: Shop) -> Order:
    return make_order(
        shop,
        lines=[{"title": "Mug <b>", "price": Decimal("10.00"), "quantity": 2}],
        shipping=[{"title": "Post", "price": Decimal("5.00")}],
        email="ada@example.com",
        phone="+16135550100",
        billing_address=ADDRESS,
        shipping_address=ADDRESS,
        note="The cellar door",
        customer=NAMES,
        financial_status="paid",
    )


def get_page(order: Order, **parts: Any) -> Response:
    where = {"shop_id": order.shop_id, "token": order.token} | parts
    return Client().get(f"/orders/{where['shop_id']}/{where['token']}")


def get_text(response: Response) -> str:
    """Return the HTML of a page with single spaces, as browsers show it."""
    return " ".join(response.content.decode().split())


def test_the_link_of_the_interface_leads_to_the_page(api: ApiClient, order: Order, settings: Settings) -> None:
    url = api.get(f"orders/{order.pk}.json").json()["order"]["order_status_url"]

    response = Client().get(url.removeprefix(settings.BASE_URL))

    assert response.status_code == 200
    for part in ("Order #1001", order.shop.name, "2 × Mug &lt;b&gt;", "25.00 USD", "Paid", "Not shipped yet", "Ottawa"):
        assert part in get_text(response)


def test_the_page_tells_the_country_in_the_buyers_language(order: Order) -> None:
    german = Client(headers={"accept-language": "de"}).get(f"/orders/{order.shop_id}/{order.token}")

    assert "Ottawa, Kanada" in get_text(german)
    assert "Ottawa, Canada" in get_text(get_page(order))


def test_the_page_contains_no_names_and_is_not_cached(order: Order) -> None:
    response = get_page(order)

    for part in ("Lovelace", "Main Street", "K1A", "5550100", "555-0100", "ada@example.com", "cellar"):
        assert part not in get_text(response)
    assert 'name="robots" content="noindex' in get_text(response)
    assert (response["X-Robots-Tag"], response["Referrer-Policy"]) == ("noindex, nofollow", "no-referrer")
    assert "no-store" in response["Cache-Control"]
    assert not response.cookies


def test_scripts_of_apps_run_in_an_origin_of_their_own(order: Order) -> None:
    response = get_page(order)

    assert f"/storefront/{order.shop.domain}/scripts.js?scope=order_status" in get_text(response)
    directives = [part.strip() for part in response["Content-Security-Policy"].split(";")]
    sandbox = next(part for part in directives if part.startswith("sandbox"))
    assert "allow-same-origin" not in sandbox
    assert "default-src 'none'" in directives


def test_a_wrong_link_and_another_shops_link_lead_nowhere(order: Order, other_shop: Shop) -> None:
    wrong: list[Attrs] = [{"token": token} for token in ("0" * 32, "x", "%FF")]
    wrong += [{"shop_id": pk} for pk in (2**70, 0, other_shop.pk)]
    for parts in wrong:
        response = get_page(order, **parts)

        assert (parts, response.status_code) == (parts, 404)
        assert "Order not found" in get_text(response)
        assert order.shop.name not in get_text(response)


def test_the_page_only_reads(order: Order) -> None:
    assert Client().post(f"/orders/{order.shop_id}/{order.token}").status_code == 405


def test_the_page_tells_of_the_cancellation_and_the_buyers_money(shop: Shop) -> None:
    order = make_order(shop, presentment_currency="JPY", exchange_rate=Decimal(150), test=True)
    transitions.cancel_order(order, actor="system", at=timezone.now())

    page_text = get_text(get_page(order))

    for part in ("was canceled on", "3,000 JPY", "2 × Mug (2 removed)", "test order"):
        assert part in page_text
    assert "USD" not in page_text


def test_receipts_are_sent_by_a_worker_and_carry_the_link(api: ApiClient, mailoutbox: list[EmailMessage]) -> None:
    body = {"email": "ada@example.com", "send_receipt": True, "line_items": [{"title": "Mug", "price": "20.00"}]}
    order = api.post("orders.json", {"order": body}).json()["order"]

    jobs.run_job(Job.objects.get(task="orders.send_receipt").key)

    assert [mail.to for mail in mailoutbox] == [["ada@example.com"]]
    assert order["order_status_url"] in mailoutbox[0].body
    assert "Total: 20.00 USD" in mailoutbox[0].body
