from apps.core.jobs.consistency_checks import consistency_checks
from apps.orders.domain import consistency_checks as checks

consistency_checks.register("order totals", checks.check_order_totals)
consistency_checks.register("order payments", checks.check_order_payments)
consistency_checks.register("order numbers", checks.check_order_numbers)
consistency_checks.register("customer totals", checks.check_customer_columns)
consistency_checks.register("units sold", checks.check_sold_units)
