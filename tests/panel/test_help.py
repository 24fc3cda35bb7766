"""Tests for the guide in the panel: access for all staff, images and working links."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from apps.panel.docs_page import PAGES
from apps.shops.models import Shop
from apps.staff.models import User
from tests.panel.conftest import PanelWith


@pytest.mark.parametrize("name", PAGES)
def test_the_guide_is_there_for_everybody_with_its_pictures_and_links(admin_client_with: PanelWith, name: str) -> None:
    panel = admin_client_with()

    response = panel.get("help_page", name)
    page = response.content.decode()

    assert response.status_code == 200
    guide = page[page.index("bo-guide") :]
    assert "![" not in guide
    assert "](" not in guide
    sections = dict(response.context["guide"].sections)
    assert sections
    for anchor in sections:
        assert f'id="{anchor}"' in guide
    for address in re.findall(r'src="([^"]+\.png)"', guide):
        picture = panel.http.get(address)
        assert picture.status_code == 200, address
        assert b"".join(picture.streaming_content).startswith(b"\x89PNG"), address  # type: ignore[attr-defined]
    assert guide.count("<img ") == len(re.findall(r' width="\d{3,4}" height="\d{3,4}"', guide))
    for address in re.findall(r'<a href="(/[^"#]+)', guide):
        assert panel.http.get(address).status_code == 200, address


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_search_finds_the_guides_headings_and_leads_to_them(admin_client_with: PanelWith, language: str) -> None:
    panel = admin_client_with()
    panel.http.defaults["HTTP_ACCEPT_LANGUAGE"] = language

    for term, name, anchor in (
        ("editing an order", "staff", "editing-an-order"),
        ("merging customers", "staff", "merging-customers"),
        ("row matching", "imports", "row-matching"),
    ):
        search_results = panel.get("search", s=term, extended="1").context["results"]
        assert [result.link for result in search_results] == [f"{panel.url('help_page', name)}#{anchor}"], term
        assert f'id="{anchor}"' in panel.get("help_page", name).content.decode()


def test_pages_come_before_headings_of_the_guide(admin_client_with: PanelWith) -> None:
    panel = admin_client_with(owner=True)

    search_results = panel.get("search", s="payment handlers", extended="1").context["results"]

    assert [result.link for result in search_results][:1] == [panel.url("payments_paymenthandlerconfig_changelist")]
    assert search_results[-1].link.endswith("/help/staff/#payment-handlers")


def test_the_menu_leads_to_the_guide(admin_client_with: PanelWith) -> None:
    panel = admin_client_with()

    assert panel.url("help") in panel.get("index").content.decode()
    assert panel.get("help").context["guide"].title == "Staff guide"


@pytest.mark.parametrize("name", ["operators", "staff.md", "..", "nothing"])
def test_no_other_file_is_shown(admin_client_with: PanelWith, shop: Shop, name: str) -> None:
    panel = admin_client_with()

    assert panel.http.get(f"{panel.url('help')}{name}/").status_code == 404


@pytest.mark.parametrize("name", ["nothing.png", "flame-list.svg", "../staff.md", "%2e%2e%2fstaff.md"])
def test_no_other_picture_is_shown(admin_client_with: PanelWith, name: str) -> None:
    panel = admin_client_with()

    assert panel.http.get(f"{panel.url('help')}images/{name}").status_code == 404


def test_the_guide_needs_a_login(admin_client_with: PanelWith) -> None:
    panel = admin_client_with()

    assert Client().get(panel.url("help")).status_code == 302


def test_every_picture_is_shown_somewhere_and_weighs_little() -> None:
    folder = Path(settings.BASE_DIR, "docs")
    texts = " ".join(path.read_text() for path in (*folder.glob("*.md"), folder.parent / "README.md"))

    for picture in (folder / "images").glob("*.png"):
        assert f"images/{picture.name})" in texts, picture.name
        assert picture.stat().st_size < 150_000, picture.name


def test_readers_of_other_languages_see_that_the_guide_is_in_english(admin_client_with: PanelWith) -> None:
    panel = admin_client_with()

    english = panel.get("help_page", "staff").content.decode()
    User.objects.filter(pk=panel.user.pk).update(language="de")
    german = panel.get("help_page", "staff").content.decode()

    assert "Die Anleitung ist auf Englisch." in german
    assert '<article class="bo-box bo-guide" lang="en">' in german
    assert "The guide is in English." not in english
