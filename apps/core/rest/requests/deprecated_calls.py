"""Record which apps call deprecated routes. A repeated call writes at most once per hour."""

import logging
from datetime import datetime

from django.core.cache import cache
from django.db import DatabaseError

from apps.core.cache import log_outage
from apps.core.db.row_locks import run_unless_locked
from apps.core.rest.models import DeprecatedCall
from apps.core.rest.requests.authentication import Access
from apps.core.rest.requests.deprecations import Deprecation
from apps.core.tenancy.scope import shop_scope

logger = logging.getLogger(__name__)
_HOUR = 3600


def record_deprecated_call(access: Access, note: Deprecation, endpoint: str, version: str, *, at: datetime) -> None:
    """Record a call, unless a call of the same app was already recorded in this hour. Failures do not fail the request.

    The call is not recorded while the cache is down or another request writes the row.
    """
    hour = f"{at:%Y%m%d%H}"
    key = f"deprecated:{access.shop.pk}:{access.installation.pk}:{endpoint.replace(' ', ':')}:{version}:{hour}"
    try:
        if not cache.add(key, 1, _HOUR):
            return
    except Exception as error:
        log_outage(error)
        return
    row = DeprecatedCall(
        shop_id=access.shop.pk,
        installation_id=access.installation.pk,
        endpoint=endpoint,
        version=version,
        anchor=note.anchor,
        last_call_at=at,
    )
    try:
        with shop_scope(access.shop):
            run_unless_locked(
                lambda: DeprecatedCall.objects.bulk_create(
                    [row],
                    update_conflicts=True,
                    unique_fields=["installation", "endpoint", "version"],
                    update_fields=["anchor", "last_call_at"],
                )
            )
    except DatabaseError as error:
        logger.warning("A call of a deprecated route was not recorded", exc_info=error)
