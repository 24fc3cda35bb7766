"""Names of refunds in the audit log: the order that they belong to."""

from collections.abc import Collection

from apps.core.admin.display.subjects import SubjectName, SubjectNames, subject_names
from apps.orders.models import Order
from apps.refunds.models import Refund


def _name_refunds(ids: Collection[int]) -> dict[int, SubjectName]:
    rows = Refund.rows().filter(pk__in=ids).values_list("pk", "order", "order__name")
    return {pk: SubjectName(name, order) for pk, order, name in rows}


subject_names.add(SubjectNames(Refund, Order, _name_refunds))
