"""Imports the rows of a shop unchanged, or changes rows so that the shop becomes a harmless staging copy.

A staging copy is the shop under another domain and handle, in another installation. Rows that would affect the outside
world are skipped (``_NOT_COPIED``), ended (``_ENDED``) or disabled (``_SWITCHED_OFF``). A copy therefore has no valid
tokens, installed apps, webhook subscriptions, waiting jobs or enabled payment handlers. A copy also sends no email (see
``apps.core.jobs.emails``). Apps that a copy should use must be installed in the copy.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from apps.backups.domain.shop_archive.format import Archive, Manifest, get_table_path
from apps.backups.domain.shop_archive.identities import IdentityMap, ReferenceColumns
from apps.backups.domain.shop_archive.schema import Table
from apps.backups.domain.shop_archive.serialization import Row, parse_row

# Models that are not imported into a staging copy. The values are the reasons.
_NOT_COPIED: Mapping[str, str] = {
    "shops.AuthorizationCode": "Unused codes of app authorizations.",
    "api.IdempotencyKey": "Responses to requests that were sent to the original shop.",
    "api.DeprecatedCall": "Calls of apps, which are not installed in a copy.",
    "jobs.Job": "Waiting jobs belong to the original shop: emails, imports, erasures.",
    "webhooks.Subscription": "Apps receive events of the original shop only.",
    "webhooks.Health": "Belongs to a subscription.",
    "webhooks.Pending": "Events that are not yet matched with subscriptions.",
    "webhooks.Endpoint": "Addresses of subscriptions.",
    "webhooks.Payload": "Payloads of deliveries.",
    "webhooks.Delivery": "Sent by the original shop.",
    "webhooks.Attempt": "Belongs to a delivery.",
    "content.ScriptTag": "Belongs to an app, which is not installed in a copy.",
    "content.ScriptCopy": "Belongs to a script tag.",
    "catalog.ProductListing": "Belongs to the sales channel of an app, which is not installed in a copy.",
    "catalog.CollectionListing": "Belongs to the sales channel of an app, which is not installed in a copy.",
    "catalog.ProductFeedback": "Belongs to an app, which is not installed in a copy.",
    "shops.ShopFeedback": "Belongs to an app, which is not installed in a copy.",
    "shops.StorefrontAccessToken": "Belongs to an app, which is not installed in a copy.",
    "store_imports.StoreConnection": "Contains a token of another store.",
    "fulfillment.Pull": "Fulfillment services are polled for the original shop only.",
    "fulfillment.PullAttempt": "Belongs to a pull.",
    "payments.TokenRedemption": "Redeemed in the original shop.",
}
# The column with the time when a row ended, keyed by model label. In a staging copy, an empty column is set to the time
# of the archive.
_ENDED: Mapping[str, str] = {"shops.AccessToken": "revoked_at", "shops.Installation": "uninstalled_at"}
# The column that enables a row, keyed by model label. In a staging copy, the column is set to false.
_SWITCHED_OFF: Mapping[str, str] = {"payments.PaymentHandlerConfig": "enabled"}


@dataclass(frozen=True, slots=True)
class ShopNames:
    """The domain and handle of the imported shop. Only a staging copy has other names than the original shop."""

    domain: str
    handle: str
    is_copy: bool = False


@dataclass(frozen=True, slots=True)
class ArchiveImport:
    archive: Archive
    manifest: Manifest
    identities: IdentityMap
    names: ShopNames

    def rows(self, table: Table) -> Iterator[Row]:
        """Yield the rows of a table by ascending primary key, with the values for this installation."""
        label = table.model._meta.label
        if self.names.is_copy and label in _NOT_COPIED:
            return
        columns, fields = ReferenceColumns.from_table(table), table.fields
        for archived in self.archive.read(get_table_path(table.name), partial(parse_row, fields)):
            row = columns.map_references(archived, self.identities.get_local_id)
            yield self._to_copy(label, fields, row) if self.names.is_copy else row

    def _to_copy(self, label: str, fields: list[Any], row: Row) -> Row:
        values = dict(zip((column.attname for column in fields), row, strict=True))
        if label == "shops.Shop":
            values |= {"domain": self.names.domain, "handle": self.names.handle, "copied_from": self.manifest.domain}
        if ended := _ENDED.get(label):
            values[ended] = values[ended] or datetime.fromisoformat(self.manifest.made_at)
        if switch := _SWITCHED_OFF.get(label):
            values[switch] = False
        return tuple(values.values())
