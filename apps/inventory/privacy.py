"""Inventory columns that never contain personal data (see ``apps.ground.privacy_registry``)."""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "inventory.InventoryItem": (
        "sku",
        "country_code_of_origin",
        "province_code_of_origin",
        "harmonized_system_code",
        "country_harmonized_system_codes",
    ),
    "inventory.Location": (
        "name",
        "address1",
        "address2",
        "city",
        "zip",
        "province",
        "province_code",
        "country_code",
        "phone",
    ),
    "inventory.StockMovement": ("actor", "reference"),
}
