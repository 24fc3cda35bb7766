"""Record the marketing events of apps and the engagement with them."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from apps.core.db.row_locks import get_for_update
from apps.core.events.recording import record_event
from apps.core.tenancy.models import Installation
from apps.core.types import Attrs
from apps.shops.domain.app_installation import lock_active
from apps.shops.models import MarketingEngagement, MarketingEvent


@transaction.atomic(savepoint=False)
def create_marketing_event(installation: Installation, attrs: Attrs, *, actor: str, at: datetime) -> MarketingEvent:
    """Create a marketing event.

    Raises:
        NotInstalled: The app was uninstalled in the meantime.
    """
    lock_active(installation.app_id)
    row: MarketingEvent = MarketingEvent.objects.create(
        shop_id=installation.shop_id, app_id=installation.app_id, created_at=at, **attrs
    )
    record_event("marketing_events/create", row, actor=actor, at=at)
    return row


@transaction.atomic(savepoint=False)
def save_engagements(event: MarketingEvent, days: Sequence[Attrs]) -> list[MarketingEngagement]:
    """Store the engagement of different days. Each day replaces what was stored for the day.

    Raises:
        RowDeleted: The event was deleted in the meantime.
    """
    get_for_update(MarketingEvent, event.pk, no_key=True)
    dates = [day["occurred_on"] for day in days]
    MarketingEngagement.objects.filter(marketing_event=event, occurred_on__in=dates).delete()
    rows = [MarketingEngagement(shop_id=event.shop_id, marketing_event=event, **day) for day in days]
    return MarketingEngagement.objects.bulk_create(rows)
