import pytest
from django.utils import timezone

from apps.catalog.domain import products
from apps.catalog.domain.image_files import store_uploaded_image
from apps.catalog.domain.images import add_image
from apps.catalog.domain.inputs import ImageInput, ProductParts, VariantInput
from apps.catalog.models import Product, ProductImage, Variant
from apps.content.domain import themes
from apps.content.models import Theme
from apps.core.tenancy.models import Installation, Membership, Shop
from apps.core.types import Attrs
from apps.inventory.domain import stock
from apps.inventory.models import InventoryItem
from apps.metafields.domain import write
from apps.metafields.models import Metafield
from tests.support import factories
from tests.support.factories.catalog import PNG, make_product
from tests.support.panel.add_forms import LEAST, get_edit_form, get_newest, submit_add_form
from tests.support.panel.client import Panel
from tests.support.panel.html_forms import get_form
from tests.support.subtests import Subtests

BY: Attrs = {"actor": "app:1"}
MEANTIME = "Someone else changed this in the meantime"
# For some screens, the field that the second user changes. On other screens, it is the first required field.
CHANGED = {
    "content_policy": "body",
    "content_mobileplatformapplication": "application_id",
    "metafields_metafield": "value",
}


def open_page(panel: Panel, name: str, pk: int, field: str = "seen") -> dict[str, list[str]]:
    return get_form(panel.get(name, pk).content, field).data


def open_product(panel: Panel, product: Product) -> dict[str, list[str]]:
    return get_edit_form(panel, "catalog_product", product.pk).data


def save_product(panel: Panel, product: Product, data: dict[str, list[str]]) -> str:
    return panel.post("catalog_product_change", product.pk, **data).content.decode()


def add_images(shop: Shop, product: Product, count: int) -> list[int]:
    images = [ImageInput(image=store_uploaded_image(shop.pk, PNG, "a.png")) for _ in range(count)]
    return [add_image(product.pk, image, **BY, at=timezone.now()).pk for image in images]


def test_the_second_editor_sees_a_conflict(owner_client: Panel, in_shop: Shop) -> None:
    colleague = Panel(factories.make_member(in_shop, owner=True, first_name="Robin", last_name="Vega"), in_shop)

    with Subtests() as checks:
        for screen, least in LEAST.items():
            with checks(screen):
                submit_add_form(owner_client, screen)
                pk, field = get_newest(screen), CHANGED.get(screen, next(iter(least)))
                opened = get_edit_form(owner_client, screen, pk).data
                theirs = get_edit_form(colleague, screen, pk).data | {field: [f"{least[field]}2"]}
                assert colleague.post(f"{screen}_change", pk, **theirs).status_code == 302
                second = owner_client.post(f"{screen}_change", pk, **opened | {field: [f"{least[field]}3"]})
                assert "Robin Vega changed this" in second.content.decode()
                assert get_edit_form(owner_client, screen, pk).data[field] == [f"{least[field]}2"]
                saved_row = get_form(second.content, model=screen.split("_")[1])
                assert saved_row.data[field] == [f"{least[field]}3"]


def test_saving_a_product_keeps_a_metafield_changed_by_an_app(owner_client: Panel, in_shop: Shop) -> None:
    # Without a second product, the ids of variants and metafields would only be equal by chance.
    make_product().delete()
    product = make_product()
    drafts = [
        {"namespace": "care", "key": key, "type": "multi_line_text_field", "value": "Cold\nwater"}
        for key in ("wash", "dry")
    ]
    wash, dry = write.set_metafields(product, drafts, **BY, at=timezone.now())
    page = open_product(owner_client, product)
    write.update_metafield(Metafield.objects.get(pk=wash.pk), {"value": "Warm"}, **BY, at=timezone.now())
    # Rows of other models can have the same id, so look only at rows with a value.
    prefixes = {name.removesuffix("-value") for name in page if name.endswith("-value")}
    row = next(prefix for prefix in prefixes if page.get(f"{prefix}-id") == [str(dry.pk)])

    response = owner_client.post(
        "catalog_product_change", product.pk, **page | {"title": ["Cup"], f"{row}-value": ["Hot"]}
    )

    assert response.status_code == 302, response.content.decode()
    values = dict(Metafield.objects.values_list("key", "value"))
    assert (Product.objects.get().title, values) == ("Cup", {"wash": "Warm", "dry": "Hot"})


def test_a_metafield_that_both_changed_is_not_overwritten_unseen(owner_client: Panel, in_shop: Shop) -> None:
    product = make_product()
    draft = {"namespace": "care", "key": "wash", "type": "single_line_text_field", "value": "Cold"}
    wash = write.set_metafields(product, [draft], **BY, at=timezone.now())[0]
    page = open_product(owner_client, product)
    write.update_metafield(Metafield.objects.get(pk=wash.pk), {"value": "Warm"}, **BY, at=timezone.now())

    text = save_product(owner_client, product, page | {"metafields-0-value": ["Hot"]})

    assert "Someone else changed this" in text
    assert Metafield.objects.get().value == "Warm"


@pytest.mark.parametrize("part", ["price", "sku"])
def test_saving_a_product_keeps_an_apps_changes_to_variants(owner_client: Panel, in_shop: Shop, part: str) -> None:
    product = make_product()
    variant = Variant.objects.select_related("inventory_item").get(product=product)
    page = open_product(owner_client, product)
    if part == "sku":
        item = InventoryItem.objects.get(pk=variant.inventory_item_id)
        stock.update_item(item, {"sku": "NEW-1"}, **BY, at=timezone.now())
    else:
        variant_inputs = [VariantInput(id=variant.pk, attrs={"price": "77.00"})]
        products.update_product(product, {}, ProductParts(variants=variant_inputs), **BY, at=timezone.now())

    text = save_product(owner_client, product, page | {"title": ["Cup"]})

    variant = Variant.objects.select_related("inventory_item").get(product=product)
    assert "changed this" in text
    assert (f"{variant.price:.2f}" if part == "price" else variant.inventory_item.sku) in {"77.00", "NEW-1"}


def test_concurrently_changed_permissions_are_not_overwritten(owner_client: Panel, in_shop: Shop) -> None:
    membership = Membership.objects.get(user=factories.make_member(in_shop, "orders"))
    arguments = "staff_membership_change", membership.pk
    page = open_page(owner_client, *arguments)
    Membership.objects.filter(pk=membership.pk).update(permissions=["themes"])

    second = owner_client.post(*arguments, **page | {"permissions": ["pages"]})
    membership.refresh_from_db()
    assert MEANTIME in second.content.decode()
    assert membership.permissions == ["themes"]
    assert owner_client.post(*arguments, **get_form(second.content, "seen").data).status_code == 302
    assert Membership.objects.get(pk=membership.pk).permissions == ["pages"]


def test_concurrently_changed_scopes_are_not_overwritten(owner_client: Panel, in_shop: Shop) -> None:
    installation = factories.make_installation(in_shop, ("read_products",))
    page = open_page(owner_client, "shops_installation_scopes", installation.pk)
    Installation.objects.filter(pk=installation.pk).update(scopes=["write_orders"])

    second = owner_client.post("shops_installation_scopes", installation.pk, **page)

    assert MEANTIME in second.content.decode()
    assert Installation.objects.get(pk=installation.pk).scopes == ["write_orders"]


def test_a_concurrently_renamed_theme_is_not_overwritten(owner_client: Panel, in_shop: Shop) -> None:
    theme = Theme.objects.get(role="main")
    page = open_page(owner_client, "content_theme_change", theme.pk)
    themes.rename_theme(Theme.objects.get(pk=theme.pk), "Theirs", **BY, at=timezone.now())

    second = owner_client.post("content_theme_change", theme.pk, **page | {"name": ["Mine"]})

    assert MEANTIME in second.content.decode()
    assert Theme.objects.get(pk=theme.pk).name == "Theirs"


def test_saving_images_keeps_alt_texts_changed_by_an_app(owner_client: Panel, in_shop: Shop) -> None:
    product = make_product()
    first, second = add_images(in_shop, product, 2)
    page = open_page(owner_client, "catalog_product_images", product.pk, "seen-order")
    ProductImage.objects.filter(pk=first).update(alt="By the app")

    owner_client.post("catalog_product_images", product.pk, **page | {f"alt-{second}": ["Mine"]})

    assert dict(ProductImage.objects.values_list("pk", "alt")) == {first: "By the app", second: "Mine"}


def test_concurrently_reordered_images_keep_their_order(owner_client: Panel, in_shop: Shop) -> None:
    product = make_product()
    ids = add_images(in_shop, product, 3)
    page = open_page(owner_client, "catalog_product_images", product.pk, "seen-order")
    theirs = [ImageInput(id=pk) for pk in (ids[2], ids[0], ids[1])]
    products.update_product(Product.objects.get(), {}, ProductParts(images=theirs), **BY, at=timezone.now())
    address = owner_client.url("catalog_product_images", product.pk)

    owner_client.http.post(address, page | {f"alt-{ids[0]}": ["Mine"]})
    moved = {"move": f"{ids[0]}:1", "form_key": [owner_client.form_key("catalog_product_images", product.pk)]}
    refused = owner_client.http.post(address, page | moved, follow=True)

    order = list(ProductImage.objects.order_by("position").values_list("pk", flat=True))
    assert order == [ids[2], ids[0], ids[1]]
    assert ProductImage.objects.get(pk=ids[0]).alt == "Mine"
    assert "has reordered the images" in refused.content.decode()
