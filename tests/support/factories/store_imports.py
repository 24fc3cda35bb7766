from datetime import UTC, datetime

from apps.core.tenancy.models import Shop
from apps.store_imports.models import MappedId, StoreConnection, StoreImport, StreamState

STARTED_AT, FINISHED_AT = datetime(2026, 7, 1, 8, tzinfo=UTC), datetime(2026, 7, 1, 9, 30, tzinfo=UTC)


def make_store_import(shop: Shop, number: int = 0) -> StoreImport:
    """Create a complete import that a worker has run, with the state of a stream."""
    row = StoreImport.objects.create(
        shop=shop,
        source_url=f"https://old-{number}.example" if number else "https://old.example",
        state=StoreImport.State.DONE,
        pass_started_at=STARTED_AT,
        complete_since=STARTED_AT,
        finished_at=FINISHED_AT,
    )
    StoreConnection.objects.create(
        shop=shop, store_import=row, platform="shopify", brand="shopify", token="secret-token", state="done"
    )
    counts = {"total": 3, "new": 2, "failed": 1, "finished_at": FINISHED_AT}
    StreamState.objects.create(shop=shop, store_import=row, name="orders", **counts)
    return row


def make_mapped_id(row: StoreImport, resource: str, source_id: int, target_id: int) -> MappedId:
    ids = {"source_id": source_id, "target_id": target_id}
    return MappedId.objects.create(shop=row.shop, store_import=row, resource=resource, digest="digest", **ids)
