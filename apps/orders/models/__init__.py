from apps.orders.models.lines import LineItem, ShippingLine
from apps.orders.models.orders import (
    ACCEPTED,
    EDITABLE,
    Comment,
    MoneyColumn,
    OpenOrder,
    Order,
    OrderCounter,
    get_outstanding,
)
from apps.orders.models.transactions import Transaction
