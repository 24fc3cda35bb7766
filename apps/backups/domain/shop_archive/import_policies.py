"""Import policies: rows of an archive are imported unchanged, or changed into a harmless staging copy.

A staging copy is the shop under another domain and handle, in another installation. Rows that act on the outside world
are skipped (``_NOT_COPIED``), ended (``_ENDED``) or disabled (``_SWITCHED_OFF``): no token is valid, no app is
installed, no webhook is subscribed, no job continues, no payment handler is enabled. A copy sends no email, see
``apps.jobs.domain.emails``. People who work on a copy install the apps that the copy should use.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.backups.domain.shop_archive.format import Archive, Manifest, get_table_path
from apps.backups.domain.shop_archive.identities import IdentityMap, ReferenceColumns
from apps.backups.domain.shop_archive.schema import Table
from apps.backups.domain.shop_archive.serialization import Row, parse_row

# Models without rows in a copy, by label, with the reason.
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
# Columns that end a row, by model label; a copy sets them to the time of the archive.
_ENDED: Mapping[str, str] = {"shops.AccessToken": "revoked_at", "shops.Installation": "uninstalled_at"}
# Columns that enable a row, by model label; a copy clears them.
_SWITCHED_OFF: Mapping[str, str] = {"payments.PaymentHandlerConfig": "enabled"}


@dataclass(frozen=True, slots=True)
class ShopNames:
    """The names of the imported shop.

    Attributes:
        domain: The domain in this installation.
        handle: The handle in this installation.
        is_copy: Whether the shop is a staging copy; otherwise it keeps its own names.
    """

    domain: str
    handle: str
    is_copy: bool = False


@dataclass(frozen=True, slots=True)
class ArchiveImport:
    """An archive that is being imported."""

    archive: Archive
    manifest: Manifest
    identities: IdentityMap
    names: ShopNames

    def rows(self, table: Table) -> Iterator[Row]:
        """Yield the rows of a table as this installation stores them, by ascending primary key."""
        label = table.model._meta.label
        if self.names.is_copy and label in _NOT_COPIED:
            return
        columns, fields = ReferenceColumns.from_table(table), table.fields
        for line in self.archive.read(get_table_path(table.name)):
            row = columns.replace_references(parse_row(fields, line), self.identities)
            yield self._to_copy(label, fields, row) if self.names.is_copy else row

    def _to_copy(self, label: str, fields: list[Any], row: Row) -> Row:
        """Return the row as a staging copy stores it."""
        values = dict(zip((column.attname for column in fields), row, strict=True))
        if label == "shops.Shop":
            values |= {"domain": self.names.domain, "handle": self.names.handle, "copied_from": self.manifest.domain}
        if ended := _ENDED.get(label):
            values[ended] = values[ended] or datetime.fromisoformat(self.manifest.made_at)
        if switch := _SWITCHED_OFF.get(label):
            values[switch] = False
        return tuple(values.values())
