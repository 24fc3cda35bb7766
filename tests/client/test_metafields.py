"""Tests with the real client: metafields of catalog rows and of the shop."""

import pytest
import shopify

from tests.client.conftest import Connect
from tests.client.test_catalog import BAG

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]


def field(**values: object) -> shopify.Metafield:
    return shopify.Metafield({"namespace": "care", "key": "washing", "type": "single_line_text_field", **values})


@pytest.mark.parametrize("kind", ["Product", "CustomCollection", "Variant"])
def test_metafields_are_added_changed_and_deleted(connect: Connect, kind: str) -> None:
    connect()
    product = shopify.Product.create(BAG)
    owner = {
        "Product": product,
        "CustomCollection": shopify.CustomCollection.create({"title": "Kitchen"}),
        "Variant": product.variants[0],
    }[kind]

    added = owner.add_metafield(field(value="cold"))
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


def test_metafields_of_an_image_are_found_by_their_owner(connect: Connect) -> None:
    connect()
    product = shopify.Product.create(BAG)
    image = product.images[0]

    metafield = field(value="print", owner_id=image.id, owner_resource="product_image")
    saved = metafield.save()
    metafields = image.metafields()

    assert saved, metafield.errors.full_messages()
    assert [(row.id, row.value) for row in metafields] == [(metafield.id, "print")]


def test_metafields_of_the_shop_are_its_own(connect: Connect) -> None:
    connect()
    shopify.Product.create(BAG).add_metafield(field(value="cold"))
    shop = shopify.Shop.current()

    shop.add_metafield(field(value="warm"))

    assert [row.value for row in shop.metafields()] == ["warm"]


def test_a_metafield_whose_value_does_not_fit_its_type_is_refused(connect: Connect) -> None:
    connect()
    product = shopify.Product.create(BAG)

    refused = product.add_metafield(field(type="number_integer", value="many"))

    assert not refused.id
    assert list(refused.errors.errors) == ["value"]
    assert product.metafields() == []
