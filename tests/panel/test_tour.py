"""Tests for the tour, which shows new staff members the pages that they can open."""

from urllib.parse import urlsplit

import pytest

from apps.ground.tenancy import shop_scope
from apps.staff.models import Membership, User
from tests import factories
from tests.conftest import Response
from tests.panel.conftest import Panel, PanelWith
from tests.panel.html_forms import get_forms

pytestmark = pytest.mark.django_db
OFFER = "New here? Take a tour"


def follow_tour(panel: Panel) -> list[tuple[str, str]]:
    """Follow the tour from the home page to the last page; return each page's path and heading."""
    link, observed = panel.get().context["offered_tour"][0].link, []
    while link:
        response = panel.http.get(link)
        assert response.status_code == 200, link
        stay = response.context["tour"]
        observed.append((urlsplit(link).path.removeprefix(panel.url()), str(stay.stop.step.title)))
        assert f"Tour, {len(observed)} of {stay.count}: {observed[-1][1]}" in response.content.decode()
        link = stay.after.link if stay.after else ""
    return observed


def post_tour_end(panel: Panel) -> Response:
    """End the tour with the button on the home page; return the response."""
    form = next(form for form in get_forms(panel.get().content) if form.attrs["action"] == panel.url("end_tour"))
    return panel.post("end_tour", **form.data)


def test_an_owner_is_led_through_five_pages(owner_client: Panel) -> None:
    assert follow_tour(owner_client) == [
        ("catalog/product/", "Your products"),
        ("orders/order/", "Orders"),
        ("fulfillment/fulfillmentorder/", "Fulfillment"),
        ("customers/customer/", "Customers"),
        ("", "Find anything"),
    ]


def test_it_leads_past_what_a_person_may_not_open(admin_client_with: PanelWith) -> None:
    assert follow_tour(admin_client_with("customers")) == [("customers/customer/", "Customers"), ("", "Find anything")]


def test_a_tour_of_one_page_is_none(admin_client_with: PanelWith) -> None:
    assert OFFER not in admin_client_with("themes").get().content.decode()


def test_who_ended_it_is_offered_it_in_no_shop(owner_client: Panel) -> None:
    assert OFFER in owner_client.get().content.decode()

    response = post_tour_end(owner_client)

    other = factories.make_shop()
    with shop_scope(other):
        Membership.objects.create(shop=other, user=owner_client.user, account_owner=True)
    elsewhere = Panel(User.objects.get(pk=owner_client.user.pk), other)
    assert (response.status_code, response["Location"]) == (302, owner_client.url())
    assert [OFFER in panel.get().content.decode() for panel in (owner_client, elsewhere)] == [False, False]


def test_it_can_be_walked_after_its_end_too_and_ends_once(owner_client: Panel) -> None:
    post_tour_end(owner_client)
    first = User.objects.get(pk=owner_client.user.pk).tour_ended_at

    owner_client.post("end_tour")

    assert User.objects.get(pk=owner_client.user.pk).tour_ended_at == first
    assert owner_client.get("orders_order_changelist", tour="2").context["tour"].count == 5


def test_the_stop_narrows_and_keeps_nothing(owner_client: Panel) -> None:
    response = owner_client.get("catalog_product_changelist", tour="1")

    changelist = response.context["cl"]
    assert (changelist.saveable_query, changelist.active_filters.chips) == ("", [])


@pytest.mark.parametrize("stop", ["", "0", "1", "7", "x", "²", "9" * 400])
def test_a_stop_that_is_not_here_shows_the_page_alone(owner_client: Panel, stop: str) -> None:
    response = owner_client.get("orders_order_changelist", tour=stop)

    assert (response.status_code, response.context["tour"]) == (200, None)


def test_the_tour_cannot_be_ended_by_a_get_request(owner_client: Panel) -> None:
    assert owner_client.get("end_tour").status_code == 405
    assert User.objects.get(pk=owner_client.user.pk).tour_ended_at is None
