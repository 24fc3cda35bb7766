"""Erase personal data from bulk edits. Edits of the customer's own rows can't be undone afterwards."""

from datetime import datetime

from django.db.models import Q

from apps.bulk_edits.models import BulkEdit, EditedRow
from apps.bulk_edits.targets import CustomerTarget, OrderTarget
from apps.core.privacy import build_mention_filter, get_blank_values
from apps.customers.domain import personal_data
from apps.customers.domain.lookup import get_merged_ids
from apps.customers.domain.personal_data import PersonalData, personal_data_parts
from apps.customers.models import Customer
from apps.orders.models import Order

_BATCH = 1000


def redact_bulk_edits(customer: Customer, actor: str, at: datetime) -> None:
    """Erase row results of the customer and the customer's orders, and other results and edits that mention them."""
    words = [word.lower() for word in personal_data.get_identifying_words(customer)]
    orders = Order.objects.filter(customer=customer).values("pk")
    customer_ids = [customer.pk, *get_merged_ids(customer.pk)]
    own = Q(edit__kind=CustomerTarget.name, row_id__in=customer_ids) | Q(edit__kind=OrderTarget.name, row_id__in=orders)
    rows = EditedRow.objects.filter(own | build_mention_filter(("label", "reason"), words)).order_by("pk")
    last = 0
    while ids := list(rows.filter(pk__gt=last).values_list("pk", flat=True)[:_BATCH]):
        EditedRow.objects.filter(pk__in=ids).update(**get_blank_values(EditedRow))
        last = ids[-1]
    for pk, operations in BulkEdit.objects.exclude(operations={}).order_by("pk").values_list("pk", "operations"):
        if any(word in str(operations).lower() for word in words):
            BulkEdit.objects.filter(pk=pk).update(operations={})


personal_data_parts.register("bulk edits", PersonalData(redact=redact_bulk_edits))
