"""A small demo warehouse that shows how a fulfillment service works. Tests use the warehouse as well.

The warehouse is an ordinary app: it has an access token and a secret, listens on localhost for callbacks, and uses the
REST API. ``manage.py demo_warehouse`` runs the warehouse.
"""

from apps.demo.warehouse.api_client import ApiClient, ApiRequestFailed
from apps.demo.warehouse.simulator import BAD_RESPONSES, Behavior, Warehouse

# The service's name and the scopes that the app requests.
SERVICE_NAME = "Demo warehouse"
SCOPES = ("write_fulfillments", "write_assigned_fulfillment_orders")

__all__ = ["BAD_RESPONSES", "SCOPES", "SERVICE_NAME", "ApiClient", "ApiRequestFailed", "Behavior", "Warehouse"]
