"""Product tags, stored as one string on the product and also as one row per tag for queries."""

from apps.catalog.models import Product, ProductTag
from apps.ground.case_folding import casefold_text


def split_tags(text: str) -> list[str]:
    """Split the string in ``Product.tags`` into tags."""
    return [name for name in text.split(", ") if name]


def get_tag_key(name: str) -> str:
    """Return the case-folded key for comparing tags."""
    return casefold_text(name)


def write_tags(product: Product) -> None:
    """Update the tag rows to match ``Product.tags``."""
    names = {get_tag_key(name): name for name in split_tags(product.tags)}
    rows = {tag.key: tag for tag in ProductTag.objects.filter(product=product)}
    obsolete_ids = [tag.pk for key, tag in rows.items() if names.get(key) != tag.name]
    if obsolete_ids:
        ProductTag.objects.filter(pk__in=obsolete_ids).delete()
    ProductTag.objects.bulk_create(
        ProductTag(shop_id=product.shop_id, product=product, name=name, key=key)
        for key, name in names.items()
        if key not in rows or rows[key].name != name
    )
