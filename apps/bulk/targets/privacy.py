"""Erase personal data from bulk edits. Edits of the customer's own rows can't be undone afterwards."""

from datetime import datetime

from django.db.models import Q

from apps.bulk.models import BulkEdit, EditedRow
from apps.bulk.targets.customers import CUSTOMERS
from apps.bulk.targets.orders import ORDERS
from apps.customers.domain import merge, personal_data
from apps.customers.models import Customer
from apps.ground.privacy_registry import ColumnsByModel, build_mention_filter
from apps.orders.models import Order

_BATCH = 1000
PERSONAL_COLUMNS: ColumnsByModel = {
    "bulk.BulkEdit": ("operations",),
    "bulk.EditedRow": ("label", "reason", "changes", "before"),
}


def redact_bulk_edits(customer: Customer, actor: str, at: datetime) -> None:
    """Erase row results of the customer and the customer's orders, and other results and edits that mention them."""
    words = [word.lower() for word in personal_data.get_identifying_words(customer)]
    orders = Order.objects.filter(customer=customer).values("pk")
    customer_ids = [customer.pk, *merge.get_merged_ids(customer.pk)]
    own = Q(edit__kind=CUSTOMERS.name, row_id__in=customer_ids) | Q(edit__kind=ORDERS.name, row_id__in=orders)
    rows = EditedRow.objects.filter(own | build_mention_filter(("label", "reason"), words)).order_by("pk")
    last = 0
    while ids := list(rows.filter(pk__gt=last).values_list("pk", flat=True)[:_BATCH]):
        EditedRow.objects.filter(pk__in=ids).update(label="", reason="", changes=[], before={})
        last = ids[-1]
    for pk, operations in BulkEdit.objects.exclude(operations={}).order_by("pk").values_list("pk", "operations"):
        if any(word in str(operations).lower() for word in words):
            BulkEdit.objects.filter(pk=pk).update(operations={})


def register_privacy_handler() -> None:
    """Register the function that erases a customer's data from bulk edits."""
    personal_data.register_personal_data("bulk edits", redact=redact_bulk_edits, personal_columns=PERSONAL_COLUMNS)
