"""The errors that end a store import. What was imported before is kept."""

from datetime import datetime

from apps.core.exceptions import DomainError
from apps.core.i18n.messages import define_message, define_text

BUSY = define_text(
    "store_imports.busy",
    "Another process is importing this store, or was killed less than a minute ago. Try again in a minute.",
)
OTHER_CURRENCY = define_message(
    "store_imports.other_currency",
    "The store's currency is {theirs}, but this shop's is {ours}. Amounts are not converted. "
    "Change the currency of this shop in the settings, or import into a new shop.",
)

RUNNING = define_text(
    "store_imports.running", "An import into this shop is running. Wait until it is done, or pause it first."
)
TOKEN_MISSING = define_text(
    "store_imports.token_missing", "The access token was deleted. Connect to the store again to continue the import."
)


ENDED = define_message(
    "store_imports.ended",
    "The import of this store ended on {date}, so that it does not overwrite this shop. "
    "Only the operator can import again, with the command import_store --reopen.",
)


class SourceUnreadable(DomainError):
    """Raised when the store can't be read. The message says what to do."""


class SourceUnreachable(SourceUnreadable):
    """Raised when all attempts to reach the store have failed. A later attempt may succeed."""


class StoreImportEnded(DomainError):
    """Raised when the import was ended by a final pass."""

    def __init__(self, ended_at: datetime) -> None:
        super().__init__(ENDED(date=ended_at.date().isoformat()))


class SelectionRefused(DomainError):
    """Raised when a stream to import does not exist, or nothing is selected."""


class StoreImportBusy(DomainError):
    """Raised when another process runs the import, or has taken it over."""

    def __init__(self) -> None:
        super().__init__(BUSY)


class CurrencyDiffers(DomainError):
    """Raised when the store has another currency than the shop."""

    def __init__(self, *, theirs: str, ours: str) -> None:
        super().__init__(OTHER_CURRENCY(theirs=theirs, ours=ours))


class ImportRunning(DomainError):
    """Raised when an import into the shop is running."""

    def __init__(self) -> None:
        super().__init__(RUNNING)


class TokenMissing(DomainError):
    """Raised when the access token of an import was deleted."""

    def __init__(self) -> None:
        super().__init__(TOKEN_MISSING)
