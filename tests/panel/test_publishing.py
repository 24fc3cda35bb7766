"""The visibility and publication date of articles, pages, products and collections, and alternative texts in place."""

import html
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine

from apps.catalog.domain.collections.lifecycle import CollectionParts, update_collection
from apps.catalog.domain.image_files import store_uploaded_image
from apps.catalog.models import Collection, Product, ProductImage
from apps.content.domain import articles
from apps.content.domain.article_images import store_article_image
from apps.content.models import Article, Page
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from tests.support.factories.catalog import PNG, make_custom, make_image, make_product, make_smart
from tests.support.factories.content import make_article, make_blog, make_page
from tests.support.panel.add_forms import get_edit_form
from tests.support.panel.client import Panel

pytestmark = pytest.mark.usefixtures("in_shop", "media_root")

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
BEFORE = datetime(2026, 1, 5, 6, 7, 8, 90_000, tzinfo=UTC)
MAKERS: dict[str, Callable[..., Any]] = {
    "content_article": make_article,
    "content_page": make_page,
    "catalog_product": make_product,
    "catalog_customcollection": make_custom,
    "catalog_smartcollection": lambda: make_smart("Mugs", ("title", "contains", "mug")),
}
SCREENS = pytest.mark.parametrize("screen", MAKERS)


def make_published(screen: str, published_at: datetime | None) -> Any:
    """Create a row with this publication date."""
    row = MAKERS[screen]()
    type(row).objects.filter(pk=row.pk).update(published_at=published_at)
    return row


def save(panel: Panel, screen: str, row: Any, **values: str) -> Any:
    form = get_edit_form(panel, screen, row.pk)
    data = form.data | {name: [value] for name, value in values.items()}
    response = panel.http.post(panel.url(f"{screen}_change", row.pk), data)
    row.refresh_from_db()
    return response


@pytest.fixture
def panel(owner_client: Panel) -> Panel:
    Shop.objects.update(timezone="America/New_York")
    return owner_client


@SCREENS
@pytest.mark.parametrize("published_at", [None, BEFORE])
def test_an_untouched_form_changes_nothing(panel: Panel, screen: str, published_at: datetime | None) -> None:
    row = make_published(screen, published_at)
    before = type(row).objects.filter(pk=row.pk).values().get()
    events = Event.objects.count()

    response = save(panel, screen, row)

    assert response.status_code == 302
    assert type(row).objects.filter(pk=row.pk).values().get() == before
    assert Event.objects.count() == events


@SCREENS
def test_hiding_and_showing_set_the_date(panel: Panel, screen: str) -> None:
    row = make_published(screen, BEFORE)

    save(panel, screen, row, visibility="hidden")
    hidden = row.published_at
    with time_machine.travel(NOON, tick=False):
        save(panel, screen, row, visibility="visible")
        shown = row.published_at
    save(panel, screen, row, published_at="2031-05-06T07:08")

    assert (hidden, shown) == (None, NOON)
    assert row.published_at == datetime(2031, 5, 6, 11, 8, tzinfo=UTC)


@SCREENS
def test_the_date_is_picked_in_the_named_time_zone(panel: Panel, screen: str) -> None:
    row = make_published(screen, datetime(2031, 5, 6, 11, 8, tzinfo=UTC))

    page = panel.get(f"{screen}_change", row.pk).content.decode()

    (tag,) = re.findall(r'<input[^>]*name="published_at"[^>]*>', page)
    assert 'type="datetime-local"' in tag
    assert 'value="2031-05-06T07:08"' in tag
    assert "The time is in the shop's time zone (America/New York)." in html.unescape(page)
    assert get_edit_form(panel, screen, row.pk).data["visibility"] == ["visible"]


@SCREENS
def test_a_hidden_record_with_a_new_date_is_questioned(panel: Panel, screen: str) -> None:
    row = make_published(screen, None)

    response = save(panel, screen, row, published_at="2031-05-06T07:08")

    assert response.status_code == 200
    assert list(response.context["adminform"].form.errors) == ["published_at"]
    assert "Choose “Visible” to publish from this date on, or delete the date." in response.content.decode()
    assert row.published_at is None


@SCREENS
@pytest.mark.parametrize("value", ["soon", "2031-03-09T02:30", "0000-01-01T00:00", "9999-12-31T23:59"])
def test_a_wrong_date_is_refused(panel: Panel, screen: str, value: str) -> None:
    """On 9 March 2031, the clocks in New York are turned forward at two o'clock."""
    row = make_published(screen, BEFORE)

    response = save(panel, screen, row, published_at=value)

    assert response.status_code == 200
    assert list(response.context["adminform"].form.errors) == ["published_at"]
    assert row.published_at == BEFORE


def test_new_rows_are_published_when_they_are_saved(panel: Panel) -> None:
    form = get_edit_form(panel, "content_page")
    with time_machine.travel(NOON, tick=False):
        panel.http.post(panel.url("content_page_add"), form.data | {"title": ["Now"]})
        panel.http.post(
            panel.url("content_page_add"),
            get_edit_form(panel, "content_page").data | {"title": ["Never"], "visibility": ["hidden"]},
        )

    assert dict(Page.objects.values_list("title", "published_at")) == {"Now": NOON, "Never": None}


def test_the_only_blog_is_chosen(panel: Panel) -> None:
    def get_choice() -> list[str]:
        return get_edit_form(panel, "content_article").data["blog"]

    without = panel.get("content_article_add").context["adminform"].form.initial
    first = make_blog(title="News")
    only = get_choice()
    make_blog(title="Press")

    assert "blog" not in without
    assert only == [str(first.pk)]
    assert get_choice() == [""]


def test_alternative_texts_of_products_are_changed_in_place(panel: Panel) -> None:
    product = make_product("Bag")
    first, second = make_image(product, alt="Front"), make_image(product)
    data = get_edit_form(panel, "catalog_product", product.pk).data

    response = save(panel, "catalog_product", product, **{f"alt-{second.pk}": " Back "})

    assert data[f"alt-{first.pk}"] == ["Front"]
    assert response.status_code == 302
    rows = list(ProductImage.objects.order_by("position").values_list("pk", "alt", "key"))
    assert rows == [(first.pk, "Front", first.key), (second.pk, "Back", second.key)]
    assert Event.objects.filter(topic="products/update", actor__startswith="staff:").count() == 1


def test_a_concurrent_alternative_text_is_not_overwritten(panel: Panel) -> None:
    product = make_product("Bag")
    image = make_image(product, alt="Front")
    data = get_edit_form(panel, "catalog_product", product.pk).data
    ProductImage.objects.update(alt="Changed by an app")

    panel.http.post(panel.url("catalog_product_change", product.pk), data | {"title": ["Tote"]})

    assert Product.objects.get().title == "Tote"
    assert ProductImage.objects.get(pk=image.pk).alt == "Changed by an app"


def test_a_refused_form_keeps_the_typed_alternative_text(panel: Panel) -> None:
    product = make_product("Bag")
    image = make_image(product, alt="Front")

    response = save(panel, "catalog_product", product, title="", **{f"alt-{image.pk}": "Side"})

    assert response.status_code == 200
    assert re.search(rf'name="alt-{image.pk}"\s+value="Side"', response.content.decode())
    assert ProductImage.objects.get().alt == "Front"


def test_alternative_texts_are_next_to_the_image_of_a_collection(panel: Panel, shop: Shop) -> None:
    collection = make_custom()
    image = store_uploaded_image(shop.pk, PNG, "pots.png")
    update_collection(collection, {"image_alt": "Pots"}, CollectionParts(image=image), actor="system", at=NOON)

    page = panel.get("catalog_customcollection_change", collection.pk).content.decode()
    save(panel, "catalog_customcollection", collection, image_alt="Two pots")

    assert f'<div class="bo-image-input"><img class="bo-thumb" data-side="96" src="/content/images/{shop.pk}/' in page
    assert Collection.objects.get(pk=collection.pk).image_alt == "Two pots"


def test_alternative_texts_are_next_to_the_image_of_an_article(panel: Panel) -> None:
    article = make_article()
    image = store_article_image(PNG, "snow.png")
    articles.update_article(article, {"image_alt": "Snow"}, image=image, actor="system", at=NOON)

    page = panel.get("content_article_change", article.pk).content.decode()
    save(panel, "content_article", article, image_alt="A field")

    assert re.search(
        r'<div class="bo-image-input"><img src="/[^"]*snow\.png[^"]*" alt="Snow" class="bo-picture">', page
    )
    assert Article.objects.get().image_alt == "A field"
