"""Check that no row refers to a row of another shop, which would mean that a shop scope has failed."""

from collections.abc import Iterator

from django.apps import apps
from django.db.models import F, ForeignKey, Model

from apps.ground.base_models import ShopOwned

# The maximum number of reported rows per foreign key. More rows would only show the same bug again.
_MAX_REPORTED = 100


def find_cross_shop_references() -> Iterator[str]:
    """Yield a sentence for each row that refers to a row of another shop."""
    for model in apps.get_models():
        if issubclass(model, ShopOwned) and not model._meta.proxy:
            for field in model._meta.local_fields:
                if isinstance(field, ForeignKey) and issubclass(field.related_model, ShopOwned):
                    yield from _check_foreign_key(model, field)


def _check_foreign_key(model: type[Model], field: "ForeignKey[Model, Model]") -> Iterator[str]:
    rows = (
        model._default_manager.exclude(**{f"{field.name}__shop_id": F("shop_id")})
        .filter(**{f"{field.name}__shop_id__isnull": False})
        .order_by("pk")
        .values_list("shop_id", "pk", field.attname, f"{field.name}__shop_id")
    )
    for shop, pk, target, target_shop in rows[:_MAX_REPORTED]:
        yield f"shop {shop}, {model._meta.db_table} {pk}: its {field.name} {target} belongs to shop {target_shop}"
