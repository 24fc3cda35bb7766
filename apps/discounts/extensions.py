from apps.discounts.domain.price_rules import get_currency_objection
from apps.discounts.domain.uses import record_uses_of_new_orders
from apps.orders.domain import hooks
from apps.shops.domain.settings import currency_objections

currency_objections.register("discounts", get_currency_objection)
hooks.new_order_listeners.add(record_uses_of_new_orders)
