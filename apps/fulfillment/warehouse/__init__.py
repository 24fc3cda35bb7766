"""A small warehouse of our own, to see how a fulfillment service works, and to test against.

It is an app like any other: it knows its access token and its app's secret, listens on loopback for our callbacks, and
does its work over REST. Run by ``manage.py demo_warehouse``, and by tests.
"""

from apps.fulfillment.warehouse.interface import Interface, Refused
from apps.fulfillment.warehouse.manners import BAD_ANSWERS, Manners
from apps.fulfillment.warehouse.running import Warehouse

# What merchants see, and the scopes that it needs.
NAME = "Demo warehouse"
SCOPES = ("write_fulfillments", "write_assigned_fulfillment_orders")

__all__ = ["BAD_ANSWERS", "NAME", "SCOPES", "Interface", "Manners", "Refused", "Warehouse"]
