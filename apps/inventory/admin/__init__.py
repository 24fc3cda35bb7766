"""Panel pages for inventory items, locations and inventory changes."""

from apps.core.tenancy.permissions import allow, grants
from apps.inventory.admin.items import InventoryItemAdmin
from apps.inventory.admin.locations import LocationAdmin
from apps.inventory.admin.movements import StockMovementAdmin
from apps.inventory.admin.receipts import StockReceiptAdmin
from apps.inventory.admin.transfers import StockTransferAdmin

grants.add(
    allow("locations", "vac", "inventory.location"),
    allow("products", "v", "inventory.location", "inventory.stockmovement"),
    allow("products", "vc", "inventory.inventoryitem"),
    allow("products", "vac", "inventory.stockreceipt", "inventory.stocktransfer"),
)
