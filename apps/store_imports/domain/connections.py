"""Connect to the store of an import: check the address and the access token, and keep the token for the worker."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.core.http.sync_client import MIB, Limits
from apps.core.i18n.messages import define_message, define_text
from apps.core.tenancy.scope import get_current_shop
from apps.store_imports.domain.errors import ImportRunning, SourceUnreachable, SourceUnreadable
from apps.store_imports.domain.id_map import IdMap
from apps.store_imports.domain.report import get_source_settings
from apps.store_imports.domain.runner import check_currency, get_or_create_import
from apps.store_imports.domain.source_client import (
    ObjectGone,
    ScopeMissing,
    SourceClient,
    SourceObject,
    TokenRefused,
    normalize_source_url,
    normalize_token,
)
from apps.store_imports.domain.streams import Source, streams
from apps.store_imports.models import StoreConnection, StoreImport

# Staff wait for the check, so it takes no longer than about this many seconds. Further streams are not counted.
CHECK_SECONDS = 20
TOKEN_LIFETIME = timedelta(days=7)
# The words in the name of the token's header, in the order in which they are tried.
_BRANDS: Mapping[str, Sequence[str]] = {
    StoreConnection.Platform.BACKOFFICE: (settings.BRAND, "platform", "shopify"),
    StoreConnection.Platform.SHOPIFY: ("shopify",),
}
_SHOPIFY_DOMAIN = "myshopify.com"
# The name of a store, alone or in the address of its admin.
_SHOPIFY_NAME = re.compile(
    r"(?:(?:https://)?admin\.shopify\.com/store/)?([a-z0-9][a-z0-9-]*)(?:/.*)?", re.ASCII | re.IGNORECASE
)
_NO_API = define_message(
    "store_imports.no_api",
    "There is no store at {url}. Check the address, or ask the owner for the address of the store's panel.",
)
_BAD_TOKEN = define_text(
    "store_imports.token_refused", "The store does not accept the token. Copy it again, and check the platform."
)
_TOO_SLOW = define_text("store_imports.too_slow", "The store answers too slowly. Try again later.")


@dataclass(frozen=True, slots=True)
class CheckedStore:
    """A store that accepted the access token.

    Attributes:
        counts: The number of objects by stream, if the store counts them.
        refused: The streams that the token may not read.
    """

    client: SourceClient
    shop: SourceObject
    counts: Mapping[str, int]
    refused: Sequence[str]


@dataclass(frozen=True, slots=True)
class _TimeLimit:
    """A time limit for the requests of a check."""

    end: float = field(default_factory=lambda: time.monotonic() + CHECK_SECONDS)

    @property
    def is_reached(self) -> bool:
        return time.monotonic() > self.end

    def sleep(self, seconds: float) -> None:
        if time.monotonic() + seconds > self.end:
            raise SourceUnreachable(_TOO_SLOW)
        time.sleep(seconds)


def check_connection(*, address: str, token: str, platform: str) -> CheckedStore:
    """Read the settings of a store, and count its objects. Call this function outside of transactions.

    Raises:
        SourceUnreadable: The address or the token is wrong, or the store can't be reached.
        CurrencyDiffers: The store has another currency than the shop.
    """
    url, token = normalize_source_url(complete_address(address, platform)), normalize_token(token)
    limit = _TimeLimit()
    for brand in dict.fromkeys(_BRANDS[platform]):
        client = SourceClient(
            url, token, brand, settings.API_VERSIONS[-1], limit.sleep, Limits(8 * MIB, total_seconds=8), attempts=2
        )
        try:
            shop = read_source_shop(client)
        except TokenRefused:
            continue
        check_currency(shop)
        return CheckedStore(client, shop, *_count_objects(client, shop, limit))
    raise SourceUnreadable(_BAD_TOKEN)


def complete_address(address: str, platform: str) -> str:
    """Return the address with the domain of the platform if only the name of the store was entered."""
    match = _SHOPIFY_NAME.fullmatch(address.strip()) if platform == StoreConnection.Platform.SHOPIFY else None
    return f"{match[1]}.{_SHOPIFY_DOMAIN}" if match else address


def read_source_shop(client: SourceClient) -> SourceObject:
    """Return the shop object of a store.

    Raises:
        SourceUnreadable: There is no REST API at the address.
    """
    try:
        shop = client.get("shop.json").get("shop")
    except ObjectGone:
        shop = None
    if not isinstance(shop, dict):
        raise SourceUnreadable(_NO_API(url=client.url))
    return shop


def _count_objects(client: SourceClient, shop: SourceObject, limit: _TimeLimit) -> tuple[dict[str, int], list[str]]:
    known = StoreImport.rows().filter(source_url=client.url).first()
    source = Source(client, shop, IdMap(known.pk if known else 0), timezone.now(), lambda: None)
    counts: dict[str, int] = {}
    refused: list[str] = []
    for stream in streams.values():
        if limit.is_reached:
            break
        try:
            count = stream.count_objects(source)
        except ScopeMissing:
            refused.append(stream.name)
        except SourceUnreachable:
            break
        except SourceUnreadable:
            continue
        else:
            if count is not None:
                counts[stream.name] = count
    return counts, refused


@transaction.atomic
def save_connection(store: CheckedStore, *, platform: str, at: datetime) -> StoreConnection:
    """Save a checked connection with its token, which replaces an earlier one of the same store.

    Raises:
        ImportRunning: The import of this store is running.
    """
    store_import = get_or_create_import(store.client.url)
    connection = StoreConnection.rows().select_for_update().filter(store_import=store_import).first()
    if connection is None:
        connection = StoreConnection(shop=get_current_shop(), store_import=store_import)
    elif connection.state == StoreConnection.State.RUNNING:
        raise ImportRunning
    values: dict[str, Any] = {
        "platform": platform,
        "brand": store.client.brand,
        "token": store.client.token,
        "token_expires_at": at + TOKEN_LIFETIME,
        "counts": dict(store.counts),
        "refused": list(store.refused),
        "settings": get_source_settings(store.shop),
    }
    # A paused or failed import continues with the new token.
    if connection.state == StoreConnection.State.DONE:
        values["state"] = StoreConnection.State.READY
    for name, value in values.items():
        setattr(connection, name, value)
    connection.save()
    return connection


def create_client(connection: StoreConnection) -> SourceClient:
    url = connection.store_import.source_url
    return SourceClient(url, connection.token, connection.brand, settings.API_VERSIONS[-1])


def delete_expired_tokens(now: datetime) -> int:
    """Delete the tokens of imports that no worker has continued for a week."""
    expired = StoreConnection.objects.filter(token_expires_at__lt=now)
    return expired.update(token="", token_expires_at=None)
