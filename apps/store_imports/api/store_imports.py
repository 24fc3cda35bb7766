"""REST API for store imports and their maps of IDs. Both are read-only, and contain no token and no problem."""

from collections.abc import Mapping
from typing import ClassVar

from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from apps.core.i18n.error_messages import BLANK
from apps.core.rest.exceptions import BadRequest
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import ComputedField, ModelDerivedField, ReadOnlyColumn
from apps.core.rest.resources.filters import ChoiceFilter, IdsFilter, ResourceFilter
from apps.core.rest.resources.nested_rows import NestedRows
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.tenancy.shop_owned import ShopOwned
from apps.store_imports.domain.id_map import MAPPED_RESOURCES
from apps.store_imports.models import MappedId, StoreConnection, StoreImport, StreamState

CANNOT_BE_PASSED = "cannot be passed"


class StreamStateSerializer(ResourceSerializer[StreamState]):
    id = None
    name = ReadOnlyColumn()
    total = ReadOnlyColumn()
    new = ReadOnlyColumn()
    changed = ReadOnlyColumn()
    unchanged = ReadOnlyColumn()
    failed = ReadOnlyColumn()
    finished_at = ModelDerivedField(read_only=True)


def _state(_context: RenderContext, state: str, connection_state: str | None) -> str:
    """Return the state of the background run, or the state of the import if no such run is unfinished."""
    return state if connection_state in {None, StoreConnection.State.DONE} else str(connection_state)


class StoreImportSerializer(ResourceSerializer[StoreImport]):
    source_url = ReadOnlyColumn()
    state = ComputedField(
        _state, "state", "connection__state", schema={"type": "string", "enum": StoreConnection.State.values}
    )
    created_at = ModelDerivedField(read_only=True)
    pass_started_at = ModelDerivedField(read_only=True)
    complete_since = ModelDerivedField(read_only=True)
    finished_at = ModelDerivedField(read_only=True)
    ended_at = ModelDerivedField(read_only=True)
    streams = NestedRows(StreamStateSerializer, "streams")


class StoreImportViewSet(ShopViewSet[StoreImport]):
    scope = "store_imports"
    serializer_class = StoreImportSerializer
    singular = "store_import"
    has_few_rows = True


class MappedIdSerializer(ResourceSerializer[MappedId]):
    id = None
    resource = ReadOnlyColumn()
    source_id = ReadOnlyColumn()
    target_id = ReadOnlyColumn()


class MappedIdFilter(ResourceFilter):
    """The filters of a map. Its rows have neither an ID nor times in the API."""

    ids = since_id = created_at_min = created_at_max = updated_at_min = updated_at_max = None  # type: ignore[assignment]
    resource = ChoiceFilter("resource", words=MAPPED_RESOURCES)
    source_ids = IdsFilter("source_id")
    target_ids = IdsFilter("target_id")


class MappedIdViewSet(ShopViewSet[MappedId]):
    """The map of IDs of one import, one resource at a time, in the order of the IDs in the source."""

    scope = "store_imports"
    serializer_class = MappedIdSerializer
    filterset_class = MappedIdFilter
    singular = "mapped_id"
    order = ("source_id",)
    parents: ClassVar[Mapping[str, type[ShopOwned]]] = {"store_import_id": StoreImport}

    def list(self, request: Request, **_: int) -> HttpResponse:
        """Return a page of the map. Clients that page by ``since_id`` would read the first page again and again."""
        if refused := self.query.keys() & {"order", "since_id"}:
            raise BadRequest(dict.fromkeys(sorted(refused), CANNOT_BE_PASSED))
        return super().list(request)

    def filter_rows(self, filters: Mapping[str, str]) -> QuerySet[MappedId] | type[MappedId]:
        """Require a resource, because an ID is only unique within a resource, and the indexes begin with it."""
        if not filters.get("resource"):
            raise BadRequest({"resource": BLANK})
        return super().filter_rows(filters)
