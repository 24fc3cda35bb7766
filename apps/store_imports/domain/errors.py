"""The errors that end a store import. What was imported before is kept."""

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


class SourceUnreadable(DomainError):
    """Raised when the store can't be read. The message says what to do."""


class SourceForbidden(SourceUnreadable):
    """Raised when the app of the token may not read a list."""


class StoreImportBusy(DomainError):
    """Raised when another process runs the import, or has taken it over."""

    def __init__(self) -> None:
        super().__init__(BUSY)


class CurrencyDiffers(DomainError):
    """Raised when the store has another currency than the shop."""

    def __init__(self, *, theirs: str, ours: str) -> None:
        super().__init__(OTHER_CURRENCY(theirs=theirs, ours=ours))
