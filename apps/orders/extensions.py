from apps.catalog.domain.notifications.removal_hooks import removal_listeners
from apps.customers.domain.merge import MergePart, merge_parts
from apps.metafields.domain.owners import OwnerType, owner_types
from apps.orders.domain import deleted_products
from apps.orders.domain.create.numbering import get_currency_objection
from apps.orders.domain.customer_totals import get_customer_orders, move_orders
from apps.orders.models import Order
from apps.shops.domain.settings import currency_objections

currency_objections.add(get_currency_objection)
removal_listeners.add(deleted_products.enqueue_updates)
merge_parts.register("orders", MergePart(rows=get_customer_orders, move=move_orders))
owner_types.add(OwnerType("orders", "order", Order, scope="orders", is_personal=True))
