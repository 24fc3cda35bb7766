"""Names of variants, stock and images in the audit log."""

from collections.abc import Collection

from django.utils.translation import gettext as _

from apps.catalog.models import Product, ProductImage, Variant
from apps.core.admin.display.subjects import SubjectName, SubjectNames, subject_names
from apps.inventory.models import InventoryItem, InventoryLevel


def _name_items(ids: Collection[int]) -> dict[int, SubjectName]:
    rows = Variant.rows().filter(inventory_item__in=ids).select_related("product", "inventory_item")
    return {row.inventory_item_id: SubjectName(_get_name(row), row.product_id) for row in rows}


def _name_levels(ids: Collection[int]) -> dict[int, SubjectName]:
    levels = InventoryLevel.rows().filter(pk__in=ids).select_related("location")
    places = {level.pk: (level.item_id, level.location.name) for level in levels}
    items = _name_items({item for item, _place in places.values()})
    template = _("{item} at {location}")
    return {
        pk: SubjectName(template.format(item=items[item].name, location=place), items[item].page)
        for pk, (item, place) in places.items()
        if item in items
    }


def _name_variants(ids: Collection[int]) -> dict[int, SubjectName]:
    rows = Variant.rows().filter(pk__in=ids).select_related("product", "inventory_item")
    return {row.pk: SubjectName(_get_name(row), row.product_id) for row in rows}


def _name_images(ids: Collection[int]) -> dict[int, SubjectName]:
    rows = ProductImage.rows().filter(pk__in=ids).values_list("pk", "product", "product__title")
    return {pk: SubjectName(title, product) for pk, product, title in rows}


def _get_name(variant: Variant) -> str:
    sku = variant.inventory_item.sku
    return f"{variant.full_name} ({sku})" if sku else variant.full_name


for model, load in (
    (InventoryItem, _name_items),
    (InventoryLevel, _name_levels),
    (Variant, _name_variants),
    (ProductImage, _name_images),
):
    subject_names.add(SubjectNames(model, Product, load))
