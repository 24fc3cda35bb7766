"""An erasure takes what bulk edits noted of a person, and with it the way back for the person's own rows."""

from datetime import datetime

from django.db.models import Q

from apps.bulk.kinds.customers import CUSTOMERS
from apps.bulk.kinds.orders import ORDERS
from apps.bulk.models import BulkEdit, EditedRow
from apps.customers.domain import merging, personal_data
from apps.customers.models import Customer
from apps.ground.personal import Places, mentions
from apps.orders.models import Order

_BATCH = 1000
PLACES: Places = {
    "bulk.BulkEdit": ("operations",),
    "bulk.EditedRow": ("label", "reason", "changes", "before"),
}


def redact(customer: Customer, actor: str, at: datetime) -> None:
    """Blank what was noted of the customer, of their orders, and whatever else names them."""
    words = [word.lower() for word in personal_data.words_of(customer)]
    orders = Order.objects.filter(customer=customer).values("pk")
    persons = [customer.pk, *merging.former_ids(customer.pk)]
    own = Q(edit__kind=CUSTOMERS.name, row_id__in=persons) | Q(edit__kind=ORDERS.name, row_id__in=orders)
    rows = EditedRow.objects.filter(own | mentions(("label", "reason"), words)).order_by("pk")
    last = 0
    while ids := list(rows.filter(pk__gt=last).values_list("pk", flat=True)[:_BATCH]):
        EditedRow.objects.filter(pk__in=ids).update(label="", reason="", changes=[], before={})
        last = ids[-1]
    for pk, operations in BulkEdit.objects.exclude(operations={}).order_by("pk").values_list("pk", "operations"):
        if any(word in str(operations).lower() for word in words):
            BulkEdit.objects.filter(pk=pk).update(operations={})


def register_all() -> None:
    """Take part in erasures."""
    personal_data.register("bulk edits", redact=redact, places=PLACES)
