"""Import locations. A location is matched by its name, and the primary location of a new shop is used as well."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db.models import Model

from apps.core.exceptions import DomainError
from apps.core.i18n.messages import define_text, pair_messages
from apps.core.tenancy.scope import get_current_shop
from apps.inventory.api.locations import LocationSerializer
from apps.inventory.domain import locations
from apps.inventory.models import InventoryLevel, Location
from apps.store_imports.domain.comparison import CREATED_NOW, Comparison
from apps.store_imports.domain.source_client import SourceObject, refuse_malformed, sort_by_id
from apps.store_imports.domain.streams import ACTOR, ObjectResult, Outcome, Source, Stream, write_in_savepoint
from apps.store_imports.resources.rest_objects import create_reader

_COLUMNS = ("name", "address1", "address2", "city", "zip", "phone", "province", "province_code", "country_code")
LANGUAGE = "is in the language of the shop"
_SERVICE = define_text(
    "store_imports.service_location",
    "The location belongs to the fulfillment service of an app. Install the app on this shop.",
)


class LocationStream(Stream):
    """Locations. The list has no filter, so each pass reads it. A location that the store deletes stays here."""

    name = "locations"
    resource = "location"
    model: ClassVar[type[Model]] = Location
    comparison = Comparison(
        read=create_reader(LocationSerializer),
        not_compared={
            "created_at": CREATED_NOW,
            "localized_country_name": LANGUAGE,
            "localized_province_name": LANGUAGE,
        },
    )

    def count_objects(self, source: Source) -> int | None:
        return source.client.count("locations/count.json")

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        """Return all locations after ``position``, because the list of locations has no pages."""
        return sort_by_id(self.name, source.client.get_list("locations.json", "locations"), position)

    def write_objects(self, source: Source, objects: Sequence[SourceObject], files: Any) -> Sequence[ObjectResult]:
        known = source.ids.get_target_ids(self.resource, [row["id"] for row in objects])
        existing = {row.pk: row for row in Location.objects.all()}
        mapped = source.ids.get_source_ids(self.resource, existing)
        unmapped = {pk: row for pk, row in existing.items() if pk not in mapped and not row.legacy}
        results = []
        for row in objects:
            with refuse_malformed(self.name, row):
                target = existing.get(known.get(row["id"], 0)) or _find_match(source, row, unmapped)
            if target is not None:
                unmapped.pop(target.pk, None)
            results.append(_write_location(source, row, target))
        return results


def _find_match(source: Source, row: SourceObject, unmapped: dict[int, Location]) -> Location | None:
    """Return the location with the same name, or for the primary location this shop's if it has no stock yet."""
    by_name = next(
        (location for location in unmapped.values() if location.name == row["name"] and location.active), None
    )
    if by_name is not None or row["id"] != source.shop.get("primary_location_id"):
        return by_name
    primary = unmapped.get(get_current_shop().primary_location_id or 0)
    has_stock = primary is not None and InventoryLevel.objects.filter(location=primary).exists()
    return None if has_stock else primary


def _write_location(source: Source, row: SourceObject, target: Location | None) -> ObjectResult:
    if row.get("legacy"):
        return ObjectResult(Outcome.UNCHANGED, problem=_SERVICE)
    values = {name: row.get(name) for name in _COLUMNS}

    def write() -> ObjectResult:
        try:
            if target is None:
                location = locations.create_location(actor=ACTOR, at=source.at, **values)
            else:
                location = locations.update_location(target, values, actor=ACTOR, at=source.at)
        except ValidationError as error:
            raise DomainError(pair_messages(error.messages)) from None
        if location.active and row.get("active") is False:
            locations.deactivate_location(location, actor=ACTOR, at=source.at)
        return ObjectResult(Outcome.NEW if target is None else Outcome.CHANGED, location.pk)

    return write_in_savepoint(write)
