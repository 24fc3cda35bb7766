from apps.orders.models.bases import MoneyColumn
from apps.orders.models.lines import LineItem, ShippingLine
from apps.orders.models.orders import (
    ACCEPTED,
    EDITABLE,
    OWED_TO_CUSTOMERS,
    Comment,
    OpenOrder,
    Order,
    OrderCounter,
    get_outstanding,
)
from apps.orders.models.risks import OrderRisk
from apps.orders.models.transactions import MOVED_MONEY, Transaction
