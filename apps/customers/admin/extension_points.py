"""Extension points of the customer page: buttons, links in the menu *More*, and sections below the main fields."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from django.http import HttpRequest
from django.urls import reverse
from django_stubs_ext import StrOrPromise

from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import Context
from apps.core.registry import Registry
from apps.customers.models import Customer


@dataclass(frozen=True, slots=True)
class CustomerLink:
    """A link to a page that gets the customer's ID as the query parameter ``customer``.

    The link is in the menu *More*, or with ``is_button`` next to the menu.
    """

    label: StrOrPromise
    url_name: str
    permission: str
    is_button: bool = False

    def get_url(self, customer: Customer) -> str:
        return f"{reverse(f'admin:{self.url_name}')}?customer={customer.pk}"


class PageLink(NamedTuple):
    label: StrOrPromise
    url: str
    is_button: bool


customer_links = Registry[str, CustomerLink]("links of the customer page", get_key=attrgetter("url_name"))


@dataclass(frozen=True, slots=True)
class CustomerSection:
    """A section of the customer page. The template receives the result of ``get_values`` as ``part``.

    None hides the section.
    """

    template: str
    get_values: Callable[[HttpRequest, Customer], Context | None]


customer_sections = Registry[str, CustomerSection]("sections of the customer page", get_key=attrgetter("template"))


def get_customer_sections(request: HttpRequest, customer: Customer) -> list[tuple[str, Context]]:
    sections = ((section.template, section.get_values(request, customer)) for section in customer_sections.values())
    return [(template, values) for template, values in sections if values is not None]


def get_customer_links(request: HttpRequest, customer: Customer) -> list[PageLink]:
    """Return the links that the user may open."""
    if customer.erasing_at is not None or customer.redacted_at is not None:
        return []
    return [
        PageLink(link.label, link.get_url(customer), link.is_button)
        for link in customer_links.values()
        if has_permission(request, link.permission)
    ]
