"""Look up and save the map of IDs of an import."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from apps.core.tenancy.scope import get_current_shop
from apps.store_imports.models import MappedId

# The resources that apps can look up by the IDs of the API. The map also has entries that only imports use, such as
# those of theme files.
MAPPED_RESOURCES = (
    *("shop", "location", "country", "province", "product", "variant", "inventory_item", "product_image", "collection"),
    *("customer", "price_rule", "discount_code", "gift_card", "order", "line_item", "shipping_line", "transaction"),
    *("refund", "fulfillment", "fulfillment_order", "draft_order", "page", "blog", "article", "comment", "redirect"),
    *("theme", "script_tag", "webhook", "metafield"),
)


class NewId(NamedTuple):
    """An entry of the map to save."""

    resource: str
    source_id: int
    target_id: int
    digest: str = ""


@dataclass(frozen=True, slots=True)
class IdMap:
    """The map of IDs of one import."""

    import_id: int

    def get_entries(self, resource: str, source_ids: Collection[int]) -> Mapping[int, MappedId]:
        rows = MappedId.objects.filter(store_import_id=self.import_id, resource=resource, source_id__in=source_ids)
        return {row.source_id: row for row in rows}

    def get_target_ids(self, resource: str, source_ids: Collection[int]) -> Mapping[int, int]:
        return {source_id: row.target_id for source_id, row in self.get_entries(resource, source_ids).items()}

    def get_source_ids(self, resource: str, target_ids: Collection[int]) -> Mapping[int, int]:
        rows = MappedId.objects.filter(store_import_id=self.import_id, resource=resource, target_id__in=target_ids)
        return dict(rows.values_list("target_id", "source_id"))

    def get_next_entries(self, resource: str, after: int, limit: int) -> list[MappedId]:
        """Return the next entries of a resource after a source ID, in ascending order."""
        rows = MappedId.objects.filter(store_import_id=self.import_id, resource=resource, source_id__gt=after)
        return list(rows.order_by("source_id")[:limit])

    def count_entries(self, resource: str) -> int:
        return MappedId.objects.filter(store_import_id=self.import_id, resource=resource).count()

    def has_entries(self, resource: str) -> bool:
        return MappedId.objects.filter(store_import_id=self.import_id, resource=resource).exists()

    def remove_targets(self, resource: str, target_ids: Collection[int]) -> None:
        """Remove the entries of objects that were deleted in this shop."""
        MappedId.objects.filter(store_import_id=self.import_id, resource=resource, target_id__in=target_ids).delete()

    def save_entries(self, entries: Iterable[NewId]) -> None:
        """Save new entries and replace changed ones. Unchanged entries cost no write."""
        by_resource: dict[str, dict[int, NewId]] = {}
        for entry in entries:
            by_resource.setdefault(entry.resource, {})[entry.source_id] = entry
        for resource, wanted in by_resource.items():
            existing = self.get_entries(resource, wanted)
            new, changed = [], []
            for source_id, entry in wanted.items():
                row = existing.get(source_id)
                if row is None:
                    new.append(MappedId(shop=get_current_shop(), store_import_id=self.import_id, **entry._asdict()))
                elif (row.target_id, row.digest) != (entry.target_id, entry.digest):
                    row.target_id, row.digest = entry.target_id, entry.digest
                    changed.append(row)
            MappedId.objects.bulk_create(new)
            MappedId.objects.bulk_update(changed, ["target_id", "digest"])
