"""Bulk edits of customers: tags and marketing consents."""

from collections.abc import Collection
from datetime import datetime

from django.utils.translation import gettext_lazy

from apps.bulk_edits.domain.targets import EditTarget
from apps.core.db.row_locks import get_for_update
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.customers.domain import customers
from apps.customers.domain.consents import Channel, get_consent
from apps.customers.models import Customer

_CHANNELS = {"email_consent": Channel.EMAIL, "sms_consent": Channel.SMS}
_FIELDS = {"email_consent": "email_marketing_consent", "sms_consent": "sms_marketing_consent"}


def lock_customer_row(pk: int, names: Collection[str]) -> Customer:
    """Lock the customer."""
    return get_for_update(Customer, pk)


def get_customer_values(customer: Customer, names: Collection[str]) -> Attrs:
    """Return the values of the fields. The value of a consent is its state."""
    return {
        name: get_consent(customer, _CHANNELS[name]).state if name in _CHANNELS else getattr(customer, name)
        for name in names
    }


def write_customer(customer: Customer, after: ReadOnlyAttrs, *, actor: str, at: datetime) -> None:
    """Update the customer. Consent changes are recorded in the consent history."""
    attrs = {_FIELDS.get(name, name): {"state": value} if name in _FIELDS else value for name, value in after.items()}
    customers.update_customer(customer, attrs, actor=actor, at=at)


def get_customer_version(pk: int) -> str:
    return str(Customer.objects.values_list("version", flat=True).get(pk=pk))


CUSTOMERS = EditTarget(
    name="customers",
    label=gettext_lazy("Customers"),
    model=Customer,
    permission="customers.change_customer",
    granted_by="customers",
    fields=("tags", "email_consent", "sms_consent"),
    lock_row=lock_customer_row,
    get_values=get_customer_values,
    write=write_customer,
    get_version=get_customer_version,
    get_name=str,
)
