"""Import policies: rows are imported unchanged, or changed so that the shop becomes a harmless staging copy.

A staging copy is the shop under another domain and handle, in another installation. Rows that would affect the outside
world are skipped (``_NOT_COPIED``), ended (``_ENDED``) or disabled (``_SWITCHED_OFF``). A copy therefore has no valid
tokens, installed apps, webhook subscriptions, waiting jobs or enabled payment handlers. It also sends no email, see
``apps.jobs.domain.emails``. Apps that a copy should use must be installed in the copy.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.backups.domain.shop_archive.format import Archive, Manifest, get_table_path
from apps.backups.domain.shop_archive.identities import IdentityMap, ReferenceColumns
from apps.backups.domain.shop_archive.schema import Table
from apps.backups.domain.shop_archive.serialization import Row, parse_row

# Models with rows that a copy does not get, by label, with the reasons.
_NOT_COPIED: Mapping[str, str] = {
    "shops.AuthorizationCode": "What apps were about to get a token for.",
    "api.IdempotencyKey": "Answers to requests that were sent to the shop itself.",
    "jobs.Job": "Work that waits is the shop's: its mails, its imports, its erasures.",
    "webhooks.Subscription": "Apps are told of the shop, not of its copy.",
    "webhooks.Health": "Belongs to a subscription.",
    "webhooks.Pending": "Events on their way to subscriptions.",
    "webhooks.Endpoint": "Addresses of subscriptions.",
    "webhooks.Payload": "What deliveries carry.",
    "webhooks.Delivery": "Sent by the shop itself.",
    "webhooks.Attempt": "Belongs to a delivery.",
    "content.ScriptTag": "Leaves with its app, which is not installed in a copy.",
    "content.ScriptCopy": "Belongs to a script tag.",
    "fulfillment.Pull": "Warehouses are asked for the shop, not for its copy.",
    "fulfillment.PullAttempt": "Belongs to a pull.",
    "payments.TokenRedemption": "Spent in the shop itself.",
}
# Maps labels of models to the column that ends a row. A copy sets it to the time of the archive, unless it is set.
_ENDED: Mapping[str, str] = {"shops.AccessToken": "revoked_at", "shops.Installation": "uninstalled_at"}
# Maps labels of models to the column that enables a row. A copy sets it to false.
_SWITCHED_OFF: Mapping[str, str] = {"payments.PaymentHandlerConfig": "enabled"}


@dataclass(frozen=True, slots=True)
class ShopNames:
    """The domain and handle of the imported shop.

    Attributes:
        domain: The domain in this installation.
        handle: The handle in this installation.
        is_copy: Whether the shop is a staging copy. If not, it keeps its domain and handle.
    """

    domain: str
    handle: str
    is_copy: bool = False


@dataclass(frozen=True, slots=True)
class ArchiveImport:
    """An archive that is being imported, with the names for the shop."""

    archive: Archive
    manifest: Manifest
    identities: IdentityMap
    names: ShopNames

    def rows(self, table: Table) -> Iterator[Row]:
        """Yield the rows of a table by ascending primary key, as this installation stores them."""
        label = table.model._meta.label
        if self.names.is_copy and label in _NOT_COPIED:
            return
        columns, fields = ReferenceColumns.from_table(table), table.fields
        for line in self.archive.read(get_table_path(table.name)):
            row = columns.replace_references(parse_row(fields, line), self.identities)
            yield self._to_copy(label, fields, row) if self.names.is_copy else row

    def _to_copy(self, label: str, fields: list[Any], row: Row) -> Row:
        """Return a row as a staging copy stores it."""
        values = dict(zip((column.attname for column in fields), row, strict=True))
        if label == "shops.Shop":
            values |= {"domain": self.names.domain, "handle": self.names.handle, "copied_from": self.manifest.domain}
        if ended := _ENDED.get(label):
            values[ended] = values[ended] or datetime.fromisoformat(self.manifest.made_at)
        if switch := _SWITCHED_OFF.get(label):
            values[switch] = False
        return tuple(values.values())
