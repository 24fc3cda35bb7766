"""Requests for metafields of the shop and of every owner type."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.utils import timezone

from apps.metafields.domain import write
from apps.metafields.domain.owners import get_owner_type
from apps.metafields.models import Metafield
from tests.metafields.owners import KINDS, MAKERS
from tests.samples import World, sample

ROW = {"namespace": "care", "key": "wash", "value": "Cold", "type": "single_line_text_field"}
OTHER = {"metafield": {"namespace": "care", "key": "dry", "value": "Flat", "type": "single_line_text_field"}}


def of(world: World, make: Callable[[], Any] | None) -> dict[str, Any]:
    owner = make() if make else world.shop
    row = {**ROW, "key": f"wash{Metafield.objects.count()}"}
    (metafield,) = write.set_metafields(owner, [row], actor="system", at=timezone.now())
    return {"owner_id": owner.pk, "id": metafield.pk}


def below(world: World, make: Callable[[], Any]) -> dict[str, Any]:
    owner = make()
    write.set_metafields(owner, [ROW], actor="system", at=timezone.now())
    return {
        "owner_id": owner.pk,
        "product_id": getattr(owner, "product_id", 0),
        "blog_id": getattr(owner, "blog_id", 0),
    }


def six(prefix: str, arrange: Callable[[World], dict[str, Any]]) -> None:
    sample(f"GET {prefix}metafields.json", arrange=arrange)
    sample(f"POST {prefix}metafields.json", OTHER, arrange=arrange, status=201)
    sample(f"GET {prefix}metafields/count.json", arrange=arrange)
    sample(f"GET {prefix}metafields/<id>.json", arrange=arrange)
    sample(f"PUT {prefix}metafields/<id>.json", {"metafield": {"value": "Hot"}}, arrange=arrange)
    sample(f"DELETE {prefix}metafields/<id>.json", arrange=arrange)


six("", partial(of, make=None))
for resource, make in MAKERS.items():
    owner = get_owner_type(resource)
    assert owner is not None
    six(f"{owner.path}/<owner_id>/", partial(of, make=make))
    for kind in owner.extra_paths:
        six(f"{kind}/<owner_id>/", partial(of, make=KINDS[kind]))
    if owner.nested_path:
        sample(f"GET {owner.nested_path}/<owner_id>/metafields/count.json", arrange=partial(below, make=make))
