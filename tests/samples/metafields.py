"""Sample requests for metafields of the shop and of every owner type."""

from collections.abc import Callable
from functools import partial

from django.db.models import Model
from django.utils import timezone

from apps.core.types import Attrs
from apps.metafields.domain import write
from apps.metafields.domain.owners import owner_types
from apps.metafields.models import Metafield
from tests.samples import SampleContext, register_sample
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


def register_six_routes(prefix: str, arrange: Callable[[SampleContext], Attrs]) -> None:
    register_sample(f"GET {prefix}metafields.json", arrange=arrange)
    register_sample(f"POST {prefix}metafields.json", OTHER, arrange=arrange, status=201)
    register_sample(f"GET {prefix}metafields/count.json", arrange=arrange)
    register_sample(f"GET {prefix}metafields/<id>.json", arrange=arrange)
    register_sample(f"PUT {prefix}metafields/<id>.json", {"metafield": {"value": "Hot"}}, arrange=arrange)
    register_sample(f"DELETE {prefix}metafields/<id>.json", arrange=arrange)


register_six_routes("", partial(make_owner_metafield, make=None))
for resource, make in MAKERS.items():
    owner = owner_types.get(resource)
    assert owner is not None
    register_six_routes(f"{owner.path}/<owner_id>/", partial(make_owner_metafield, make=make))
    for kind in owner.extra_paths:
        register_six_routes(f"{kind}/<owner_id>/", partial(make_owner_metafield, make=KINDS[kind]))
    if owner.nested_path:
        register_sample(
            f"GET {owner.nested_path}/<owner_id>/metafields/count.json", arrange=partial(make_owner_parent, make=make)
        )
