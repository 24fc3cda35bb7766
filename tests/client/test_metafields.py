"""Tests with the real client: metafields of catalog rows and of the shop."""

import pytest
import shopify

from tests.client.conftest import Connect
from tests.client.test_catalog import BAG

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]


def build_metafield(**values: object) -> shopify.Metafield:
    return shopify.Metafield({"namespace": "care", "key": "washing", "type": "single_line_text_field", **values})


@pytest.mark.parametrize("kind", ["Product", "CustomCollection", "Variant"])
def test_metafields_are_added_changed_and_deleted(api_client_factory: Connect, kind: str) -> None:
    api_client_factory()
    product = shopify.Product.create(BAG)
    owner = {
        "Product": product,
        "CustomCollection": shopify.CustomCollection.create({"title": "Kitchen"}),
        "Variant": product.variants[0],
    }[kind]

    added = owner.add_metafield(build_metafield(value="cold"))
    (rows,) = owner.metafields()
    rows.value = "by hand"
    saved = rows.save()
    (second_metafield,) = owner.metafields(namespace="care")

    assert added.errors.full_messages() == []
    assert saved, rows.errors.full_messages()
    assert (second_metafield.id, second_metafield.value, second_metafield.owner_id, second_metafield.type) == (
        added.id,
        "by hand",
        owner.id,
        "single_line_text_field",
    )
    assert owner.metafields_count() == 1

    second_metafield.destroy()

    assert owner.metafields() == []


def test_metafields_of_an_image_are_found_by_their_owner(api_client_factory: Connect) -> None:
    api_client_factory()
    product = shopify.Product.create(BAG)
    image = product.images[0]

    metafield = build_metafield(value="print", owner_id=image.id, owner_resource="product_image")
    saved = metafield.save()
    metafields = image.metafields()

    assert saved, metafield.errors.full_messages()
    assert [(row.id, row.value) for row in metafields] == [(metafield.id, "print")]


def test_metafields_of_the_shop_are_its_own(api_client_factory: Connect) -> None:
    api_client_factory()
    shopify.Product.create(BAG).add_metafield(build_metafield(value="cold"))
    shop = shopify.Shop.current()

    shop.add_metafield(build_metafield(value="warm"))

    assert [row.value for row in shop.metafields()] == ["warm"]


def test_a_metafield_with_an_invalid_value_is_refused(api_client_factory: Connect) -> None:
    api_client_factory()
    product = shopify.Product.create(BAG)

    refused = product.add_metafield(build_metafield(type="number_integer", value="many"))

    assert not refused.id
    assert list(refused.errors.errors) == ["value"]
    assert product.metafields() == []
