"""Tenancy: restricts queries to the current shop.

Queries use django-scopes. Inside ``shop_scope(shop)``, queries only return rows of that shop. Outside any scope,
queries raise ``ScopeError``. Code that must access all shops (operator commands, periodic tasks) uses
``all_shops_scope()``.
"""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from django_scopes import get_scope, scope, scopes_disabled
from django_scopes.exceptions import ScopeError

if TYPE_CHECKING:
    from apps.core.tenancy.models.shops import Shop

# The key in the WSGI environment that tells the web server which shop a request belongs to.
SHOP_ENVIRON_KEY = "backoffice.shop"


def shop_scope(shop: "Shop") -> AbstractContextManager[None]:
    return scope(shop=shop)


def all_shops_scope() -> AbstractContextManager[None]:
    return scopes_disabled()


def get_current_shop() -> "Shop":
    """Return the shop of the current scope, or raise ``ScopeError`` outside any scope."""
    shop: Shop | None = get_scope().get("shop")
    if shop is None:
        raise ScopeError("No shop scope is active. Use shop_scope(shop).")
    return shop
