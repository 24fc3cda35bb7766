from datetime import datetime

from django.db import transaction

from apps.core.events.recording import record_event
from apps.core.tenancy.models import Installation
from apps.core.types import Attrs
from apps.shops.domain.app_installation import lock_active
from apps.shops.models import ApplicationCredit


@transaction.atomic(savepoint=False)
def create_credit(installation: Installation, attrs: Attrs, *, actor: str, at: datetime) -> ApplicationCredit:
    """Record a credit in the shop currency.

    Raises:
        NotInstalled: The app was uninstalled in the meantime.
    """
    lock_active(installation.app_id)
    credit: ApplicationCredit = ApplicationCredit.objects.create(
        shop=installation.shop, installation=installation, currency=installation.shop.currency, created_at=at, **attrs
    )
    record_event("application_credits/create", credit, actor=actor, at=at)
    return credit
