"""The customer as the root of its aggregate: locked while a part changes, and moved with it."""

from collections.abc import Collection

from apps.customers.domain.search import search_text
from apps.customers.models import Address, Customer
from apps.ground.locks import locked


def lock(customer: Customer) -> Customer:
    """The customer as it is now, locked until the transaction ends.

    Raises:
        Gone: It was deleted meanwhile.
    """
    return locked(Customer, customer.pk)


def touch(customer: Customer, *, without: Collection[int] = ()) -> None:
    """Move the version and the time stamp of a customer whose addresses changed, and renew the search column.

    Args:
        customer: Locked; its default address is saved too.
        without: Addresses that are about to go.
    """
    customer.search_text = search_text(customer, companies_of(customer, without))
    customer.save(update_fields=["default_address", "search_text"])


def companies_of(customer: Customer, without: Collection[int] = ()) -> list[str]:
    """The companies in a customer's addresses."""
    rows = Address.objects.filter(customer=customer).exclude(company="").exclude(pk__in=list(without))
    return list(rows.order_by("pk").values_list("company", flat=True)[:20])
