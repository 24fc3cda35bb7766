"""Models for the inventory app."""

from apps.inventory.models.documents import (
    MAX_LINES,
    MAX_NAME_LENGTH,
    MAX_NOTE_LENGTH,
    MAX_QUANTITY,
    StockDocument,
    StockDocumentLine,
    StockReceipt,
    StockReceiptLine,
    StockTransfer,
    StockTransferLine,
)
from apps.inventory.models.inventory import (
    HS_CODE,
    MAX_AVAILABLE,
    InventoryItem,
    InventoryLevel,
    Location,
    StockMovement,
)
