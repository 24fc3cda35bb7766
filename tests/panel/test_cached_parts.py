"""Tests of the parts of panel pages that are cached or rendered without a template."""

import re

import pytest
from django.forms import Select
from django.template import Context, Template
from django.utils import translation
from django.utils.safestring import mark_safe

from apps.core.admin.theme import ThemedSelect
from apps.core.tenancy.models import Membership, Shop, User
from apps.core.tenancy.scope import shop_scope
from apps.fulfillment.models import FulfillmentOrder
from apps.metafields.admin.forms import get_type_choices
from apps.shops.domain.countries import get_country_choices
from tests.support import factories
from tests.support.panel.client import Panel, PanelWith

CHOICES = [
    (1, 'Salt & "pepper"'),
    ("<a>", mark_safe("<b>bold</b>")),
    ("Group <g>", [("x", "In the group"), ("y", "Also")]),
    (None, "Nothing"),
]


def get_menu(panel: Panel) -> str:
    """Return the menu's entries as text: titles, then links."""
    page = panel.get().content.decode()
    menu = page.partition('<div id="nav-sidebar-apps"')[2].partition("</div>")[0]
    return " ".join(re.findall(r"<a [^>]*>([^<]*)<", menu) + re.findall(r'<a href="([^"]*)"', menu))


def test_menu_shows_changed_permissions_language_and_shop_at_once(admin_client_with: PanelWith) -> None:
    panel = admin_client_with("themes")
    assert "Script tags" in get_menu(panel)

    with shop_scope(panel.shop):
        Membership.objects.filter(user=panel.user).update(permissions=["customers"])
    assert "Customers" in get_menu(panel)
    assert "Script tags" not in get_menu(panel)

    User.objects.filter(pk=panel.user.pk).update(language="de")
    assert "Kunden" in get_menu(panel)
    assert "Customers" not in get_menu(panel)

    other = factories.make_shop()
    with shop_scope(other):
        Membership.objects.create(shop=other, user=panel.user, permissions=["themes"])
    menu = get_menu(Panel(panel.user, other))
    assert "Kunden" not in menu
    assert f"/s/{other.handle}/admin/" in menu
    assert "/s/acme/" not in menu


@pytest.mark.parametrize("value", [None, "", 1, "<a>", "x", "unknown"])
def test_select_box_has_the_options_of_djangos_widget(value: object) -> None:
    options = [
        re.findall(r"<optgroup[^>]*>|<option[^>]*>.*?</option>", widget(choices=CHOICES).render("name", value))
        for widget in (ThemedSelect, Select)
    ]

    assert options[0] == options[1]


def test_badges_with_the_same_text_stay_safe_and_unsafe() -> None:
    from unfold.templatetags.unfold_list import display_for_label

    kinds = {"new": "info", "<i>": "info", "old": "danger"}
    badges = [
        display_for_label(value, "-", kinds)
        for value in (("new", "<i>"), ("new", mark_safe("<i>")), ("old", "<i>"), "<i>", ("unknown", "x"))
    ]

    assert ["&lt;i&gt;" in badge for badge in badges] == [True, False, True, True, False]
    assert ["bo-badge-danger" in badge for badge in badges] == [False, False, True, False, False]
    assert "unknown" in badges[4]


def test_cached_names_follow_the_language() -> None:
    names = {}
    for language in ("en", "de", "en"):
        with translation.override(language):
            text = FulfillmentOrder(status="open").get_status_display()
            names[language] = (dict(get_country_choices())["DE"], dict(get_type_choices())["date"], text)

    assert names == {"en": ("Germany", "Date", "Open"), "de": ("Deutschland", "Datum", "Offen")}


def test_menu_entries_are_escaped(shop: Shop) -> None:
    entry = {"title": "<script>", "icon": "home", "link": "/?a&b", "active": True}
    group = {"title": "<b>", "key": "<k>", "icon": "home", "items": [entry, entry]}
    menu = Template("{% menu_entries groups %}").render(Context({"groups": [group]}))

    assert "&lt;b&gt;</a>" in menu
    assert 'aria-label="Pages in &lt;b&gt;"' in menu
    assert menu.count("&lt;script&gt;</a>") == 2
    assert 'class="active"' in menu
    assert not {"<b>", "<k>", "<script>"} & set(re.findall(r"<[^>]*>", menu))
