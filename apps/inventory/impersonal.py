"""Columns that hold no words of customers: places and stock.

See ``apps.ground.personal``.
"""

from apps.ground.personal import Places

IMPERSONAL: Places = {
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
