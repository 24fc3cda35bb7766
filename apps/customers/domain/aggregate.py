"""The customer as the root of its aggregate: locked while a part changes, and moved with it."""

from collections.abc import Collection

from apps.customers.domain.search_text import places_of, renew
from apps.customers.models import SEARCHED, Customer
from apps.ground.locks import locked


def lock(customer: Customer) -> Customer:
    """The customer as it is now, locked until the transaction ends.

    Raises:
        Gone: It was deleted meanwhile.
    """
    return locked(Customer, customer.pk)


def touch(customer: Customer, *, without: Collection[int] = ()) -> None:
    """Move the version and the time stamp of a customer whose addresses changed, and renew the search columns.

    Args:
        customer: Locked; its default address is saved too.
        without: Addresses that are about to go.
    """
    renew(customer, places_of(customer, without))
    customer.save(update_fields=["default_address", *SEARCHED])
