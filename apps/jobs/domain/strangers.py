"""No row refers to a row of another shop: the proof behind the scopes that requests and jobs work in."""

from collections.abc import Iterator

from django.apps import apps
from django.db.models import F, ForeignKey, Model

from apps.ground.rows import ShopOwned

# Of each reference; one is a defect, and thousands of the same say no more.
_SHOWN = 100


def strangers() -> Iterator[str]:
    """Rows whose shop is not that of what they refer to."""
    for model in apps.get_models():
        if issubclass(model, ShopOwned) and not model._meta.proxy:
            for field in model._meta.local_fields:
                if isinstance(field, ForeignKey) and issubclass(field.related_model, ShopOwned):
                    yield from _through(model, field)


def _through(model: type[Model], field: "ForeignKey[Model, Model]") -> Iterator[str]:
    found = (
        model._default_manager.exclude(**{f"{field.name}__shop_id": F("shop_id")})
        .filter(**{f"{field.name}__shop_id__isnull": False})
        .order_by("pk")
        .values_list("shop_id", "pk", field.attname, f"{field.name}__shop_id")
    )
    for shop, pk, target, other in found[:_SHOWN]:
        yield f"shop {shop}, {model._meta.db_table} {pk}: its {field.name} {target} is of shop {other}"
