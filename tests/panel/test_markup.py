"""Tests for HTML fields: unchanged content is stored byte for byte, and links can point to the shop's objects."""

import pytest
from django.utils import timezone

from apps.catalog.models import Product
from apps.content.domain import articles, blogs
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from tests.support.factories.catalog import make_custom, make_product
from tests.support.panel.client import Panel, PanelWith

# Leading and trailing whitespace and all types of line breaks, which forms and browsers tend to normalize.
KEPT = ("\n  <p>One</p>\n\n<p>Two</p>\n", "<p>One</p>\r\n<p>Two</p>\r\n", "  <p>One</p>  ", "<p>One</p>")


def build_product_form(panel: Panel, product: Product) -> Attrs:
    """Return the data that a browser sends for the product form, with CR LF line breaks."""
    page = panel.get("catalog_product_change", product.pk)
    form_data: Attrs = {}
    for bound in page.context["adminform"].form:
        value = bound.value()
        if isinstance(value, str):
            form_data[bound.name] = value.replace("\r\n", "\n").replace("\n", "\r\n")
        elif value not in (None, False) and not isinstance(value, list):
            form_data[bound.name] = value
    for formset in (inline.formset for inline in page.context["inline_admin_formsets"]):
        for bound in formset.management_form:
            form_data[bound.html_name] = bound.value()
        form_data[f"{formset.prefix}-TOTAL_FORMS"] = form_data[f"{formset.prefix}-INITIAL_FORMS"] = 0
    return form_data


@pytest.mark.parametrize("markup", KEPT)
def test_an_unchanged_description_stays_byte_for_byte(admin_client_with: PanelWith, shop: Shop, markup: str) -> None:
    panel = admin_client_with("products")
    with shop_scope(shop):
        product = make_product(body_html=markup)

    response = panel.forge(
        "catalog_product_change", product.pk, **build_product_form(panel, product) | {"vendor": "Mill"}
    )

    assert response.status_code == 302, response.context["adminform"].form.errors
    with shop_scope(shop):
        saved = Product.objects.get()
        changes = Event.objects.filter(topic="products/update").latest("id").changes
    assert (saved.vendor, saved.body_html) == ("Mill", markup)
    assert "body_html" not in changes


def test_a_description_that_cannot_be_shown_is_refused(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("products")
    with shop_scope(shop):
        product = make_product(body_html="<p>One</p>")

    deep = build_product_form(panel, product) | {"body_html": "<b>" * 200_000}
    response = panel.forge("catalog_product_change", product.pk, **deep)

    assert response.status_code == 200
    assert response.context["adminform"].form.errors["body_html"]
    with shop_scope(shop):
        assert Product.objects.get().body_html == "<p>One</p>"


def test_targets_of_texts_are_found_by_name(admin_client_with: PanelWith, shop: Shop) -> None:
    with shop_scope(shop):
        make_product("Wool hat", handle="wool-hat")
        make_custom("Wool things", handle="wool")
        blog = blogs.create_blog({"title": "Wool news"}, actor="system", at=timezone.now())
        attrs = {"title": "Wool in winter", "published_at": timezone.now()}
        articles.create_article(blog.pk, attrs, actor="system", at=timezone.now())

    def search_targets(panel: Panel, term: str = "wool") -> set[str]:
        return {link["address"] for link in panel.get("links", q=term).json()["links"]}

    pages = {"/blogs/wool-news", "/blogs/wool-news/wool-in-winter"}
    assert search_targets(admin_client_with("products", "pages")) == {"/products/wool-hat", "/collections/wool"} | pages
    assert search_targets(admin_client_with("pages")) == pages
    assert search_targets(admin_client_with("orders")) == set()
    assert search_targets(admin_client_with("pages"), "w") == set()
