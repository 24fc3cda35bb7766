"""Read the REST representations of objects of this shop, to compare them with those of a store."""

from collections.abc import Collection, Mapping
from functools import partial

import orjson

from apps.core.rest.reading.query_plans import get_read_plan
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.serializers import Resource
from apps.core.rest.versions import get_latest_version, get_served_versions
from apps.core.strict_json import parse_json
from apps.core.tenancy.scope import get_current_shop
from apps.store_imports.domain.comparison import ObjectReader
from apps.store_imports.domain.source_client import SourceObject


def create_reader(serializer: Resource) -> ObjectReader:
    return partial(read_objects, serializer)


def read_objects(serializer: Resource, target_ids: Collection[int], version: str) -> Mapping[int, SourceObject]:
    """Return the REST representations of objects of this shop by ID, parsed like those of a store."""
    if version not in get_served_versions():
        version = get_latest_version()
    context = RenderContext(get_current_shop(), version)
    objects = get_read_plan(serializer, version).read_ids(list(target_ids), context)
    bodies = {pk: orjson.dumps(row) for pk, row in objects.items()}
    return {pk: parse_json(body, limit=len(body)) for pk, body in bodies.items()}
