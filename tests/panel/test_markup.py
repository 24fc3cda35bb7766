"""Tests for HTML fields."""

import pytest
from django.utils import timezone

from apps.catalog.models import Product
from apps.content.domain import articles, blogs
from apps.core.events.models import Event
from tests.support.factories.catalog import make_custom, make_product
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.html_forms import get_form
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("in_shop")

# Leading and trailing whitespace and all types of line breaks, which forms and browsers tend to normalize.
KEPT = ("\n  <p>One</p>\n\n<p>Two</p>\n", "<p>One</p>\r\n<p>Two</p>\r\n", "  <p>One</p>  ", "<p>One</p>")


def build_product_form(panel: Panel, product: Product) -> JsonObject:
    """Return the data that a browser sends for the product form, with CR LF line breaks."""
    page = panel.get("catalog_product_change", product.pk)
    markup = page.context["adminform"].form["body_html"].value()
    data = get_form(page.content, model="product").data
    return data | {"body_html": [markup.replace("\r\n", "\n").replace("\n", "\r\n")]}


@pytest.mark.parametrize("markup", KEPT)
def test_an_unchanged_description_stays_byte_for_byte(admin_client_with: PanelWith, markup: str) -> None:
    panel = admin_client_with("products")
    product = make_product(body_html=markup)
    form = build_product_form(panel, product) | {"vendor": ["Mill"]}

    response = panel.post("catalog_product_change", product.pk, **form)

    assert response.status_code == 302, response.context["adminform"].form.errors
    saved = Product.objects.get()
    changes = Event.objects.filter(topic="products/update").latest("id").changes
    assert (saved.vendor, saved.body_html) == ("Mill", markup)
    assert "body_html" not in changes


def test_a_description_that_cannot_be_shown_is_refused(admin_client_with: PanelWith) -> None:
    panel = admin_client_with("products")
    product = make_product(body_html="<p>One</p>")

    deep = build_product_form(panel, product) | {"body_html": ["<b>" * 200_000]}
    response = panel.post("catalog_product_change", product.pk, **deep)

    assert response.status_code == 200
    assert response.context["adminform"].form.errors["body_html"]
    assert Product.objects.get().body_html == "<p>One</p>"


def test_targets_of_texts_are_found_by_name(admin_client_with: PanelWith) -> None:
    make_product("Wool hat", handle="wool-hat")
    make_custom("Wool things", handle="wool")
    blog = blogs.create_blog({"title": "Wool news"}, actor="system", at=timezone.now())
    attrs = {"title": "Wool in winter", "published_at": timezone.now()}
    articles.create_article(blog.pk, attrs, actor="system", at=timezone.now())

    def search_targets(*permissions: str, term: str = "wool") -> set[str]:
        return {link["address"] for link in admin_client_with(*permissions).get("links", q=term).json()["links"]}

    pages = {"/blogs/wool-news", "/blogs/wool-news/wool-in-winter"}
    assert search_targets("products", "pages") == {"/products/wool-hat", "/collections/wool"} | pages
    assert [search_targets("pages"), search_targets("orders"), search_targets("pages", term="w")] == [
        pages,
        set(),
        set(),
    ]
