from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from apps.content.models import Page
from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import apply_changes, record_event
from apps.core.handles import build_handle, find_free_handle
from apps.core.tenancy.scope import get_current_shop
from apps.core.tenancy.shops import lock_shop
from apps.core.types import Attrs
from apps.metafields.domain import write as metafields
from apps.metafields.domain.write import MetafieldInput


@transaction.atomic
def create_page(attrs: Attrs, *, metafield_drafts: Sequence[MetafieldInput] = (), actor: str, at: datetime) -> Page:
    """Create a page. By default, the handle is derived from the title, and the author is the shop's name."""
    shop = get_current_shop()
    handle = build_handle(attrs.pop("handle", None) or "")
    if not handle:
        # Lock the shop, so that no concurrent request can use the same handle.
        lock_shop()
        handle = find_free_handle(Page.objects.all(), attrs["title"], fallback="page")
    author = attrs.pop("author", None) or shop.name
    page: Page = Page.objects.create(shop=shop, handle=handle, author=author, created_at=at, **attrs)
    record_event("pages/create", page, actor=actor, at=at)
    metafields.set_metafields(page, list(metafield_drafts), actor=actor, at=at)
    return page


@transaction.atomic
def update_page(
    page: Page, attrs: Attrs, *, metafield_drafts: Sequence[MetafieldInput] = (), actor: str, at: datetime
) -> None:
    """Update a page in place. A new title does not change the handle."""
    refresh_for_update(page, no_key=True)
    if "handle" in attrs:
        attrs["handle"] = build_handle(attrs["handle"] or "") or page.handle
    if "author" in attrs:
        attrs["author"] = attrs["author"] or get_current_shop().name
    if changes := apply_changes(page, attrs):
        page.save(update_fields=list(changes))
        record_event("pages/update", page, actor=actor, at=at, changes=changes)
    metafields.set_metafields(page, list(metafield_drafts), actor=actor, at=at)


@transaction.atomic
def delete_page(page: Page, *, actor: str, at: datetime) -> None:
    refresh_for_update(page)
    record_event("pages/delete", page, actor=actor, at=at)
    page.delete()
