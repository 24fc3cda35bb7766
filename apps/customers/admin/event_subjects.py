"""Names of customers in the audit log, for users who may view customers."""

from collections.abc import Collection

from apps.core.admin.display.subjects import SubjectName, SubjectNames, subject_names
from apps.customers.models import Customer


def _name_customers(ids: Collection[int]) -> dict[int, SubjectName]:
    return {row.pk: SubjectName(str(row), row.pk) for row in Customer.rows().filter(pk__in=ids)}


subject_names.add(SubjectNames(Customer, Customer, _name_customers))
