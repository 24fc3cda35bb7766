import pytest

from apps.catalog.models import Collect, Collection, Product, ProductImage
from apps.content.models import Article
from apps.core.events.models import Event
from apps.core.tenancy.models import SentForm, Shop
from apps.inventory.models import InventoryItem
from tests.support.factories.catalog import make_custom, make_image, make_product, make_smart
from tests.support.factories.content import make_article, make_blog
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.html_forms import get_form
from tests.support.panel.pages import get_messages

pytestmark = pytest.mark.usefixtures("in_shop", "media_root")


@pytest.fixture
def content_client(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("pages")


def test_a_product_is_duplicated_as_the_page_suggests(product_client: Panel) -> None:
    product = make_product("Bag", prices=("5.00", "6.00"), tags="a")
    make_image(product, alt="A bag")
    sale = make_custom("Sale", product)
    InventoryItem.objects.update(sku="X")
    address = product_client.url("catalog_product_duplicate", product.pk)
    assert f'href="{address}"' in product_client.get("catalog_product_change", product.pk).content.decode()

    form = get_form(product_client.http.get(address).content, "title")
    response = product_client.http.post(address, form.data, follow=True)

    copy = Product.objects.latest("pk")
    assert response.redirect_chain == [(product_client.url("catalog_product_change", copy.pk), 302)]
    assert get_messages(response) == "“Bag” was duplicated. You are now editing the copy."
    assert (copy.title, copy.handle, copy.status, copy.tags) == ("Copy of Bag", "copy-of-bag", "draft", "a")
    assert list(copy.variants.order_by("position").values_list("inventory_item__sku", flat=True)) == ["", ""]
    assert ProductImage.objects.get(product=copy).alt == "A bag"
    assert Collect.objects.filter(collection=sale, product=copy).exists()
    assert Event.objects.get(topic="products/create", subject_id=copy.pk).actor == f"staff:{product_client.user.pk}"
    assert b"Duplicated from Bag" in product_client.get("catalog_product_history", copy.pk).content


def test_a_product_is_duplicated_with_the_chosen_parts(product_client: Panel) -> None:
    product = make_product("Bag")
    make_image(product)
    make_custom("Sale", product)
    InventoryItem.objects.update(sku="X")

    product_client.forge("catalog_product_duplicate", product.pk, title="Tote", status="active", codes="on")

    copy = Product.objects.get(title="Tote")
    assert (copy.status, copy.images.count(), copy.collects.count()) == ("active", 0, 0)
    assert copy.variants.get().inventory_item.sku == "X"


def test_a_form_that_is_sent_twice_creates_one_copy(product_client: Panel) -> None:
    product = make_product("Bag")
    address = product_client.url("catalog_product_duplicate", product.pk)
    form = get_form(product_client.http.get(address).content, "title")

    first, second = (product_client.http.post(address, form.data) for _ in range(2))

    copy = Product.objects.get(title="Copy of Bag")
    assert first["Location"] == second["Location"] == product_client.url("catalog_product_change", copy.pk)
    assert SentForm.objects.count() == 1


def test_a_form_without_its_key_creates_nothing(product_client: Panel) -> None:
    product = make_product("Bag")

    response = product_client.post("catalog_product_duplicate", product.pk, title="Tote", status="draft")

    assert response.status_code == 409
    assert Product.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "value"), [("title", " "), ("title", "x" * 256), ("status", "archived"), ("status", "")]
)
def test_wrong_values_are_shown_with_the_form(product_client: Panel, field: str, value: str) -> None:
    product = make_product("Bag")
    values = {"title": "Tote", "status": "draft"} | {field: value}

    response = product_client.forge("catalog_product_duplicate", product.pk, **values)

    assert response.status_code == 200
    assert list(response.context["form"].errors) == [field]
    assert Product.objects.count() == 1


def test_a_long_title_is_cut_in_the_suggestion(product_client: Panel) -> None:
    product = make_product("x" * 255)

    page = product_client.get("catalog_product_duplicate", product.pk)

    assert get_form(page.content, "title").data["title"] == ["Copy of " + "x" * 247]


def test_a_custom_collection_is_duplicated(product_client: Panel) -> None:
    product = make_product()
    collection = make_custom("Kitchen", product)
    address = product_client.url("catalog_customcollection_duplicate", collection.pk)
    change = product_client.get("catalog_customcollection_change", collection.pk)
    assert f'href="{address}"' in change.content.decode()

    form = get_form(product_client.http.get(address).content, "title")
    response = product_client.http.post(address, form.data)

    copy = Collection.objects.get(title="Copy of Kitchen")
    assert response["Location"] == product_client.url("catalog_customcollection_change", copy.pk)
    assert (copy.published_at, Collect.objects.filter(collection=copy, product=product).count()) == (None, 1)


def test_a_smart_collection_is_duplicated_visibly(product_client: Panel) -> None:
    smart = make_smart("Mugs", ("title", "contains", "mug"))

    product_client.forge("catalog_smartcollection_duplicate", smart.pk, title="More mugs", visibility="visible")

    copy = Collection.objects.get(title="More mugs")
    assert (copy.kind, copy.rules) == ("smart", smart.rules)
    assert copy.published_at is not None


def test_an_article_is_duplicated_in_the_only_blog(content_client: Panel) -> None:
    article = make_article()
    address = content_client.url("content_article_duplicate", article.pk)
    assert f'href="{address}"' in content_client.get("content_article_change", article.pk).content.decode()

    form = get_form(content_client.http.get(address).content, "title")
    response = content_client.http.post(address, form.data)

    copy = Article.objects.get(title="Copy of Hello")
    assert response["Location"] == content_client.url("content_article_change", copy.pk)
    assert "blog_id" not in form.names
    assert (copy.blog_id, copy.published_at) == (article.blog_id, None)


def test_an_article_is_duplicated_in_another_blog(content_client: Panel, other_shop: Shop) -> None:
    article, other = make_article(), make_blog(title="Press")
    form = get_form(content_client.get("content_article_duplicate", article.pk).content, "title")

    content_client.forge("content_article_duplicate", article.pk, title="Press", blog_id=other.pk, visibility="visible")
    refused = content_client.forge(
        "content_article_duplicate", article.pk, title="Lost", blog_id=other.pk + 1, visibility="visible"
    )

    copy = Article.objects.get(title="Press")
    assert form.data["blog_id"] == [str(article.blog_id)]
    assert copy.blog_id == other.pk
    assert copy.published_at is not None
    assert list(refused.context["form"].errors) == ["blog_id"]
