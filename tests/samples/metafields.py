from collections.abc import Callable
from functools import partial

from django.db.models import Model
from django.utils import timezone

from apps.core.types import Attrs
from apps.metafields.domain import write
from apps.metafields.domain.owners import owner_types
from apps.metafields.models import Metafield
from tests.samples import SampleContext, register_resource, register_sample
from tests.support.factories.metafield_owners import KINDS, MAKERS

ROW = {"namespace": "care", "key": "wash", "value": "Cold", "type": "single_line_text_field"}
OTHER = {"metafield": {"namespace": "care", "key": "dry", "value": "Flat", "type": "single_line_text_field"}}


def make_owner_metafield(world: SampleContext, make: Callable[[], Model] | None) -> Attrs:
    owner = make() if make else world.shop
    row = {**ROW, "key": f"wash{Metafield.objects.count()}"}
    (metafield,) = write.set_metafields(owner, [row], actor="system", at=timezone.now())
    return {"owner_id": owner.pk, "id": metafield.pk}


def make_owner_parent(world: SampleContext, make: Callable[[], Model]) -> Attrs:
    owner = make()
    write.set_metafields(owner, [ROW], actor="system", at=timezone.now())
    return {
        "owner_id": owner.pk,
        "product_id": getattr(owner, "product_id", 0),
        "blog_id": getattr(owner, "blog_id", 0),
    }


def register_metafields(prefix: str, make: Callable[[], Model] | None) -> None:
    arrange = partial(make_owner_metafield, make=make)
    register_resource(f"{prefix}metafields", OTHER, {"metafield": {"value": "Hot"}}, arrange, parent=arrange)


register_metafields("", None)
for resource, make in MAKERS.items():
    owner = owner_types.get(resource)
    assert owner is not None
    register_metafields(f"{owner.path}/<owner_id>/", make)
    for kind in owner.extra_paths:
        register_metafields(f"{kind}/<owner_id>/", KINDS[kind])
    if owner.nested_path:
        register_sample(
            f"GET {owner.nested_path}/<owner_id>/metafields/count.json", arrange=partial(make_owner_parent, make=make)
        )
