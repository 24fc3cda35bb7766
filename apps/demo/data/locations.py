"""Demo locations for a shop. The catalog's demo data adds stock at these locations."""

from datetime import datetime

from apps.core.tenancy.models import Shop
from apps.inventory.domain import locations
from apps.inventory.domain.stock import get_primary_location

STORE = {
    "name": "Main Street store",
    "address1": "120 Main Street",
    "city": "Portland",
    "zip": "04101",
    "province": "Maine",
    "country_code": "US",
    "phone": "+1-207-555-0110",
}
WAREHOUSE = {
    "name": "Harbor warehouse",
    "address1": "8 Commercial Wharf",
    "city": "Boston",
    "zip": "02110",
    "province": "Massachusetts",
    "country_code": "US",
    "phone": "+1-617-555-0142",
    "priority": 1,
}
DEPOT = {
    "name": "Montreal depot",
    "address1": "45 rue Saint-Paul Ouest",
    "address2": "Quai 3",
    "city": "Montreal",
    "zip": "H2Y 1Y8",
    "province": "Quebec",
    "country_code": "CA",
    "phone": "+1-514-555-0177",
    "priority": 2,
}


def load_demo_locations(shop: Shop, at: datetime) -> None:
    """Create the demo locations and set the low-stock threshold. The first location already exists and is updated."""
    shop.low_stock_at = 3
    shop.save(update_fields=["low_stock_at"])
    locations.update_location(get_primary_location(), STORE, actor="system", at=at)
    for fields in (WAREHOUSE, DEPOT):
        locations.create_location(actor="system", at=at, **fields)
