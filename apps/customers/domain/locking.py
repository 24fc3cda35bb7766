"""Lock customers as aggregate roots, and update a customer when an address changes."""

from collections.abc import Collection

from django.utils.translation import gettext as _

from apps.customers.domain.search_columns import get_address_texts, rebuild_search_columns
from apps.customers.models import SEARCH_COLUMNS, Customer
from apps.ground.exceptions import DomainError
from apps.ground.row_locks import get_for_update


class BeingErased(DomainError):
    """Raised when a customer's personal data is being erased, because the erasure could miss the change."""

    code = "customer_being_erased"
    field = "customer"

    def __init__(self) -> None:
        super().__init__(_("is being erased. Try again when the personal data has been erased"))


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
    """Raise an error if a locked customer is being erased, because the erasure would miss data that is added now.

    Raises:
        BeingErased: A worker is erasing the personal data.
    """
    if customer.erasing_at is not None:
        raise BeingErased


def touch_customer(customer: Customer, *, excluded_ids: Collection[int] = ()) -> None:
    """Update the version, the timestamp and the search columns of a customer after an address change.

    Args:
        customer: The locked customer. The default address is saved too.
        excluded_ids: Ids of addresses that are about to be deleted.
    """
    rebuild_search_columns(customer, get_address_texts(customer, excluded_ids))
    customer.save(update_fields=["default_address", *SEARCH_COLUMNS])
