"""The customer as the root of its aggregate: locked while a part changes, and moved with it."""

from collections.abc import Collection

from django.utils.translation import gettext as _

from apps.customers.domain.search_text import places_of, renew
from apps.customers.models import SEARCHED, Customer
from apps.ground.errors import DomainError
from apps.ground.locks import locked


class BeingErased(DomainError):
    """The customer's personal data is being erased; what came now might outlive that."""

    code = "customer_being_erased"
    field = "customer"

    def __init__(self) -> None:
        """One wording for all of them."""
        super().__init__(_("is being erased; try again once the personal data is gone"))


def lock(customer: Customer) -> Customer:
    """The customer as it is now, locked until the transaction ends.

    Raises:
        BeingErased: A worker is erasing the personal data.
        Gone: It was deleted meanwhile.
    """
    found = locked(Customer, customer.pk)
    refuse_while_erased(found)
    return found


def refuse_while_erased(customer: Customer) -> None:
    """Refuse to add to a customer, who is locked, what an erasure under way would not reach.

    Raises:
        BeingErased: A worker is erasing the personal data.
    """
    if customer.erasing_at is not None:
        raise BeingErased


def touch(customer: Customer, *, without: Collection[int] = ()) -> None:
    """Move the version and the time stamp of a customer whose addresses changed, and renew the search columns.

    Args:
        customer: Locked; its default address is saved too.
        without: Addresses that are about to go.
    """
    renew(customer, places_of(customer, without))
    customer.save(update_fields=["default_address", *SEARCHED])
