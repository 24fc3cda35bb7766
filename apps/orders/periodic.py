from apps.core.jobs.consistency_checks import register_check
from apps.orders.domain import consistency_checks as checks
from apps.orders.domain import stock_checks

_RECALCULATED = (
    "Compare the order with its items and payments in the panel. Its next edit, refund or cancellation calculates the"
    " amounts again."
)
register_check("order totals", checks.check_order_totals, _RECALCULATED, nightly=checks.check_order_totals)
register_check(
    "order payments",
    checks.check_order_payments,
    "Compare the order with the records of its payment gateway. Its next payment or refund calculates the amounts and"
    " statuses again.",
    nightly=checks.check_order_payments,
)
register_check(
    "order numbers",
    checks.check_order_numbers,
    "Create no orders in this shop until you have raised the number in its row of orders_ordercounter.",
)
register_check("customer totals", checks.check_customer_columns, "Run manage.py check_money --repair-customers.")
register_check(
    "units sold",
    checks.check_sold_units,
    "Only the order of best-selling lists is affected. Correct the column in the database.",
)
register_check(
    "stock of orders",
    stock_checks.find_wrong_order_stock,
    "Count the item at the locations of the order and enter the result as the available quantity.",
)
register_check(
    "oversold items",
    stock_checks.find_oversold_items,
    "Restock the item, or remove it from the order with an edit or a refund.",
)
