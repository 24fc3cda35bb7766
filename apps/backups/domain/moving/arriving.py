"""What becomes of an archive's rows on their way in: they stay as they are, or they make a staging copy.

A staging copy is the shop under another domain and handle, in another installation, that does nobody any harm. What of
the shop reaches out stays behind (``_NOT_COPIED``) or comes ended (``_ENDED``, ``_SWITCHED_OFF``): no token works, no
app is installed, no webhook is subscribed, no job goes on, no payment handler is enabled; and a copy sends no mail, see
``apps.jobs.domain.letters``. Who works on it installs the apps anew that it shall talk to.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.backups.domain.moving.archives import Archive, Manifest, part_of_table
from apps.backups.domain.moving.callers import Columns, Known
from apps.backups.domain.moving.tables import Table
from apps.backups.domain.moving.values import Row, row_of

# By the label of a model, why none of its rows comes into a copy.
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
# By the label of a model, the column in which the moment of the archive stands from when on it no longer works.
_ENDED: Mapping[str, str] = {"shops.AccessToken": "revoked_at", "shops.Installation": "uninstalled_at"}
# By the label of a model, the column that switches it on.
_SWITCHED_OFF: Mapping[str, str] = {"payments.PaymentHandlerConfig": "enabled"}


@dataclass(frozen=True, slots=True)
class Place:
    """Under which names the shop arrives.

    Attributes:
        domain: Its domain here.
        handle: Its handle here.
        is_copy: Whether it is a staging copy; else the shop itself, under its own names.
    """

    domain: str
    handle: str
    is_copy: bool = False


@dataclass(frozen=True, slots=True)
class Arrival:
    """An archive on its way in."""

    archive: Archive
    manifest: Manifest
    known: Known
    place: Place

    def rows(self, table: Table) -> Iterator[Row]:
        """The rows of a table as they shall be here, by ascending primary key."""
        label = table.model._meta.label
        if self.place.is_copy and label in _NOT_COPIED:
            return
        columns, fields = Columns.of(table), table.fields
        for line in self.archive.read(part_of_table(table.name)):
            row = columns.renamed(row_of(fields, line), self.known)
            yield self._copied(label, fields, row) if self.place.is_copy else row

    def _copied(self, label: str, fields: list[Any], row: Row) -> Row:
        """The row as it is in a copy."""
        values = dict(zip((one.attname for one in fields), row, strict=True))
        if label == "shops.Shop":
            values |= {"domain": self.place.domain, "handle": self.place.handle, "copied_from": self.manifest.domain}
        if ended := _ENDED.get(label):
            values[ended] = values[ended] or datetime.fromisoformat(self.manifest.made_at)
        if switch := _SWITCHED_OFF.get(label):
            values[switch] = False
        return tuple(values.values())
