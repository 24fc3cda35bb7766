"""Lock a customer as the root of the aggregate, and update the customer when an address changes."""

from collections.abc import Collection

from django.utils.translation import gettext as _

from apps.customers.domain.search_columns import get_address_texts, rebuild_search_columns
from apps.customers.models import SEARCH_COLUMNS, Customer
from apps.ground.exceptions import DomainError
from apps.ground.row_locks import get_for_update


class BeingErased(DomainError):
    """Raised when a worker is erasing the personal data: new data could survive the erasure."""

    code = "customer_being_erased"
    field = "customer"

    def __init__(self) -> None:
        super().__init__(_("is being erased; try again when the personal data has been erased"))


def lock_customer(customer: Customer) -> Customer:
    """Return the current customer, locked until the transaction ends.

    Raises:
        BeingErased: A worker is erasing the personal data.
        RowDeleted: The customer was deleted concurrently.
    """
    current = get_for_update(Customer, customer.pk)
    raise_if_being_erased(current)
    return current


def raise_if_being_erased(customer: Customer) -> None:
    """Check that no erasure is running before data is added to a locked customer; the erasure would miss the new data.

    Raises:
        BeingErased: A worker is erasing the personal data.
    """
    if customer.erasing_at is not None:
        raise BeingErased


def touch_customer(customer: Customer, *, excluded_ids: Collection[int] = ()) -> None:
    """Increase the version and update time of a customer with changed addresses, and rebuild the search columns.

    Args:
        customer: The locked customer; the default address is saved too.
        excluded_ids: Ids of addresses that are about to be deleted.
    """
    rebuild_search_columns(customer, get_address_texts(customer, excluded_ids))
    customer.save(update_fields=["default_address", *SEARCH_COLUMNS])
