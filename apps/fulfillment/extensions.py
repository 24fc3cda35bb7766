"""What the fulfillment app adds to other apps."""

from apps.catalog.domain.fulfillment_service_choices import service_locations
from apps.core.rest.resources.nested_rows import NestedRows
from apps.fulfillment.api.fulfillments import FulfillmentSerializer
from apps.fulfillment.domain import customer_tracking, order_hooks, restore, tracking
from apps.fulfillment.domain.services import changes
from apps.inventory.domain.locations import deactivation_objections
from apps.orders.api.orders import order_members
from apps.orders.domain import hooks
from apps.orders.public.views import status_page_sections
from apps.shops.domain.app_installation import uninstall_cleaners

hooks.creation_hooks.add(restore.restore_fulfillments)
hooks.creation_hooks.add(order_hooks.route_new_orders)
hooks.cancellation_hooks.add(order_hooks.close_cancelled_order)
hooks.edit_hooks.add(order_hooks.update_edited_order)
hooks.line_listeners.register(tracking.UPDATED, tracking.record_line_changes)
order_members.register("fulfillments", NestedRows(FulfillmentSerializer, "fulfillments"))
status_page_sections.register(customer_tracking.TEMPLATE, customer_tracking.get_tracking_context)
deactivation_objections.register("fulfillment orders", order_hooks.get_deactivation_objections)
service_locations.add(changes.get_service_locations)
uninstall_cleaners.register("fulfillment services", changes.delete_services_of_app)
