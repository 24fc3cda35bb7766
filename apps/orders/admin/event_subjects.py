"""Names of transactions and risks in the audit log."""

from collections.abc import Collection

from apps.core.admin.display.subjects import SubjectName, SubjectNames, subject_names
from apps.orders.models import Order, OrderRisk, Transaction


def _name_transactions(ids: Collection[int]) -> dict[int, SubjectName]:
    rows = Transaction.rows().filter(pk__in=ids).select_related("order")
    return {row.pk: SubjectName(f"{row.order.name}: {row}", row.order_id) for row in rows}


def _name_risks(ids: Collection[int]) -> dict[int, SubjectName]:
    rows = OrderRisk.rows().filter(pk__in=ids).values_list("pk", "order", "order__name")
    return {pk: SubjectName(name, order) for pk, order, name in rows}


subject_names.add(SubjectNames(Transaction, Order, _name_transactions))
subject_names.add(SubjectNames(OrderRisk, Order, _name_risks))
