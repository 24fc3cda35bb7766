import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.test import Client

from apps.core.admin.pages.docs_page import PAGES
from apps.core.admin.reverse import get_panel_url
from apps.core.tenancy.models import Membership, Shop, User
from apps.core.tenancy.scope import shop_scope
from tests.support import factories
from tests.support.api_client import Response
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.html_forms import get_forms


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    """Return a client logged in as a staff member without permissions."""
    return admin_client_with()


@pytest.mark.parametrize("name", PAGES)
def test_the_guide_is_there_for_everybody_with_its_pictures_and_links(panel: Panel, name: str) -> None:
    response = panel.get("help_page", name)
    page = response.content.decode()

    assert response.status_code == 200
    guide = page[page.index("bo-guide") :]
    assert not re.search(r"!\[|\]\(", guide)
    sections = dict(response.context["guide"].sections)
    assert sections
    assert [anchor for anchor in sections if f'id="{anchor}"' not in guide] == []
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert sorted({anchor for anchor in ids if ids.count(anchor) > 1}) == []
    for address in re.findall(r'src="([^"]+\.png)"', guide):
        picture = panel.http.get(address)
        assert picture.status_code == 200, address
        assert b"".join(picture.streaming_content).startswith(b"\x89PNG"), address  # type: ignore[attr-defined]
    assert guide.count("<img ") == len(re.findall(r' width="\d{3,4}" height="\d{3,4}"', guide))
    for address in re.findall(r'<a href="(/[^"#]+)', guide):
        assert panel.http.get(address).status_code == 200, address


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_search_finds_the_guides_headings_and_leads_to_them(panel: Panel, language: str) -> None:
    panel.http.defaults["HTTP_ACCEPT_LANGUAGE"] = language

    for term, name, anchor in (
        ("editing an order", "staff", "editing-an-order"),
        ("merging customers", "staff", "merging-customers"),
        ("row matching", "imports", "row-matching"),
    ):
        search_results = panel.get("search", s=term, extended="1").context["results"]
        assert [result.link for result in search_results] == [f"{panel.url('help_page', name)}#{anchor}"], term
        assert f'id="{anchor}"' in panel.get("help_page", name).content.decode()


def test_pages_come_before_headings_of_the_guide(owner_client: Panel) -> None:
    links = [
        result.link for result in owner_client.get("search", s="payment handlers", extended="1").context["results"]
    ]

    assert links[0] == owner_client.url("payments_paymenthandlerconfig_changelist")
    assert links[-1].endswith("/help/staff/#payment-handlers")


def test_the_menu_leads_to_the_guide(panel: Panel) -> None:
    assert panel.url("help") in panel.get("index").content.decode()
    assert panel.get("help").context["guide"].title == "Staff guide"


def test_other_files_are_not_shown(panel: Panel) -> None:
    files = ["operators/", "staff.md/", "../", "nothing/"]
    images = ["nothing.png", "flame-list.svg", "../staff.md", "%2e%2e%2fstaff.md"]
    paths = [*files, *(f"images/{name}" for name in images)]

    assert {path: panel.http.get(panel.url("help") + path).status_code for path in paths} == dict.fromkeys(paths, 404)


def test_the_guide_needs_a_login(shop: Shop) -> None:
    assert Client().get(get_panel_url(shop, "admin:help")).status_code == 302


def test_every_picture_is_shown_somewhere_and_weighs_little() -> None:
    folder = Path(settings.BASE_DIR, "docs")
    texts = " ".join(path.read_text() for path in (*folder.glob("*.md"), folder.parent / "README.md"))

    for picture in (folder / "images").glob("*.png"):
        assert f"images/{picture.name})" in texts, picture.name
        assert picture.stat().st_size < 150_000, picture.name


def test_readers_of_other_languages_see_that_the_guide_is_in_english(panel: Panel) -> None:
    english = panel.get("help_page", "staff").content.decode()
    User.objects.filter(pk=panel.user.pk).update(language="de")
    german = panel.get("help_page", "staff").content.decode()

    assert "Die Anleitung ist auf Englisch." in german
    assert '<article class="bo-box bo-guide" lang="en">' in german
    assert "The guide is in English." not in english


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


def test_the_tour_skips_pages_without_permission(admin_client_with: PanelWith) -> None:
    assert follow_tour(admin_client_with("customers")) == [("customers/customer/", "Customers"), ("", "Find anything")]


def test_a_tour_of_one_page_is_none(admin_client_with: PanelWith) -> None:
    assert OFFER not in admin_client_with("themes").get().content.decode()


def test_a_finished_tour_is_offered_in_no_shop(owner_client: Panel) -> None:
    assert OFFER in owner_client.get().content.decode()

    response = post_tour_end(owner_client)

    other = factories.make_shop()
    with shop_scope(other):
        Membership.objects.create(shop=other, user=owner_client.user, account_owner=True)
    elsewhere = Panel(User.objects.get(pk=owner_client.user.pk), other)
    assert (response.status_code, response["Location"]) == (302, owner_client.url())
    assert [OFFER in panel.get().content.decode() for panel in (owner_client, elsewhere)] == [False, False]


def test_the_tour_can_be_repeated_and_ends_once(owner_client: Panel) -> None:
    post_tour_end(owner_client)
    first = User.objects.get(pk=owner_client.user.pk).tour_ended_at

    owner_client.post("end_tour")

    assert User.objects.get(pk=owner_client.user.pk).tour_ended_at == first
    assert owner_client.get("orders_order_changelist", tour="2").context["tour"].count == 5


def test_the_stop_narrows_and_keeps_nothing(owner_client: Panel) -> None:
    changelist = owner_client.get("catalog_product_changelist", tour="1").context["cl"]

    assert (changelist.saveable_query, changelist.active_filters.chips) == ("", [])


def test_a_stop_that_is_not_here_shows_the_page_alone(owner_client: Panel) -> None:
    for stop in ("", "0", "1", "7", "x", "²", "9" * 400):
        response = owner_client.get("orders_order_changelist", tour=stop)
        assert (response.status_code, response.context["tour"]) == (200, None), stop


def test_the_tour_cannot_be_ended_by_a_get_request(owner_client: Panel) -> None:
    assert owner_client.get("end_tour").status_code == 405
    assert User.objects.get(pk=owner_client.user.pk).tour_ended_at is None
