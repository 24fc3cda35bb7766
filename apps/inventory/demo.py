"""The demo store's locations; the catalog's demo fills their shelves."""

from datetime import datetime

from apps.inventory.domain import locations
from apps.inventory.domain.stock import primary_location
from apps.inventory.models import Location
from apps.shops.models import Shop

ACTOR = "system"
HOME = {
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
NORTH = {
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


# Of so few the demo store wants to know.
LOW = 3


def make(shop: Shop, at: datetime) -> None:
    """Three locations: the shop's first one under a name and address, and two more; and what is low stock there."""
    shop.low_stock_at = LOW
    shop.save(update_fields=["low_stock_at"])
    first: Location = primary_location()
    locations.change_location(first, HOME, actor=ACTOR, at=at)
    for fields in (WAREHOUSE, NORTH):
        locations.open_location(actor=ACTOR, at=at, **fields)
