"""Tags of products: one text for people, one row each for queries."""

from apps.catalog.models import Product, ProductTag
from apps.ground.folding import folded


def names_in(text: str) -> list[str]:
    """The tags of the canonical text."""
    return [name for name in text.split(", ") if name]


def key_of(name: str) -> str:
    """What equal tags have in common."""
    return folded(name)


def write_tags(product: Product) -> None:
    """Make the rows say what the text says."""
    wanted = {key_of(name): name for name in names_in(product.tags)}
    rows = {tag.key: tag for tag in ProductTag.objects.filter(product=product)}
    gone = [tag.pk for key, tag in rows.items() if wanted.get(key) != tag.name]
    if gone:
        ProductTag.objects.filter(pk__in=gone).delete()
    ProductTag.objects.bulk_create(
        ProductTag(shop_id=product.shop_id, product=product, name=name, key=key)
        for key, name in wanted.items()
        if key not in rows or rows[key].name != name
    )
