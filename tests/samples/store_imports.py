from apps.core.types import Attrs
from tests.samples import SampleContext, register_sample
from tests.support.factories.store_imports import make_mapped_id, make_store_import


def make_import_id(world: SampleContext) -> Attrs:
    return {"id": make_store_import(world.shop).pk}


def make_map(world: SampleContext) -> Attrs:
    row = make_store_import(world.shop)
    for number in range(1, 4):
        make_mapped_id(row, "order", 450788 + number, 1000000 + number)
    return {"store_import_id": row.pk}


ORDERS = {"resource": "order", "source_ids": "450789,450790"}

register_sample("GET store_imports.json", arrange=make_import_id)
register_sample("GET store_imports/count.json", arrange=make_import_id)
register_sample("GET store_imports/<id>.json", arrange=make_import_id)
register_sample("GET store_imports/<store_import_id>/mapped_ids.json", arrange=make_map, query={"resource": "order"})
register_sample("GET store_imports/<store_import_id>/mapped_ids/count.json", arrange=make_map, query=ORDERS)
