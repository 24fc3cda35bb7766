"""Tenancy: the shop that the code works for.

Queries go through django-scopes. Inside ``shop_scope(shop)`` they see only the rows of that shop; outside of any scope
they raise ``ScopeError``. Code that must see all shops (operator commands, periodic tasks) uses ``all_shops_scope()``.
"""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from django_scopes import get_scope, scope, scopes_disabled
from django_scopes.exceptions import ScopeError

if TYPE_CHECKING:
    from apps.shops.models import Shop

# The key in a request's WSGI environment with the id of its shop, for the server.
SHOP_ENVIRON_KEY = "backoffice.shop"


def shop_scope(shop: "Shop") -> AbstractContextManager[None]:
    """Return a context manager in which queries see only the rows of ``shop``."""
    return scope(shop=shop)


def all_shops_scope() -> AbstractContextManager[None]:
    """Return a context manager in which queries see all shops; only for operator code."""
    return scopes_disabled()


def get_current_shop() -> "Shop":
    """Return the shop of the current scope.

    Raises:
        ScopeError: No shop scope is active.
    """
    shop: Shop | None = get_scope().get("shop")
    if shop is None:
        raise ScopeError("No shop scope is active; use shop_scope(shop).")
    return shop
