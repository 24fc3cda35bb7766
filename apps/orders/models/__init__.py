from apps.orders.models.lines import LineItem, ShippingLine
from apps.orders.models.orders import (
    ACCEPTED,
    EDITABLE,
    Comment,
    MoneyColumn,
    OpenOrder,
    Order,
    OrderCounter,
)
from apps.orders.models.transactions import Transaction
