"""What the inventory app adds to shops."""

from apps.inventory.domain import locations, low_stock, stock, transfers
from apps.shops.domain.settings import currency_objections, setting_callbacks
from apps.shops.domain.shop_creation import shop_initializers

shop_initializers.register("location", locations.create_first_location)
currency_objections.add(stock.check_cost_decimals)
setting_callbacks.register("low_stock_at", low_stock.enqueue_mark_low)
locations.deactivation_objections.register("stock transfers", transfers.get_transit_objections)
