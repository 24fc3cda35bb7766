"""Which shop the code works for; outside of any, store-owned queries fail.

Queries go through django-scopes: inside ``shop_scope(shop)`` they see that shop's rows only, and outside of any scope
they raise ``ScopeError``. Code that must see all shops (the operator's commands, the sweeps) says so with
``every_shop()``.
"""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from django_scopes import get_scope, scope, scopes_disabled
from django_scopes.exceptions import ScopeError

if TYPE_CHECKING:
    from apps.shops.models import Shop

# Where a request's environ says, to the server before us, the id of the shop that it was found to be in.
SHOP_IN_ENVIRON = "backoffice.shop"


def shop_scope(shop: "Shop") -> AbstractContextManager[None]:
    """Within it, store-owned queries see the rows of ``shop`` and no others."""
    return scope(shop=shop)


def every_shop() -> AbstractContextManager[None]:
    """Within it, store-owned queries see all shops; for the operator's code only."""
    return scopes_disabled()


def current_shop() -> "Shop":
    """The shop of the scope we are in.

    Raises:
        ScopeError: There is none.
    """
    shop: Shop | None = get_scope().get("shop")
    if shop is None:
        raise ScopeError("No shop is active here; enter one with shop_scope(shop).")
    return shop
