from apps.discounts.domain.price_rules import check_amount_decimals
from apps.discounts.domain.uses import record_uses_of_new_orders
from apps.orders.domain import hooks
from apps.shops.domain.settings import currency_objections

currency_objections.register("discounts", check_amount_decimals)
hooks.new_order_listeners.add(record_uses_of_new_orders)
