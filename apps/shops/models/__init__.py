"""The tables of shops, apps and tokens."""

from apps.shops.models.apps import (
    TOKEN_PREFIX,
    AccessToken,
    App,
    Installation,
    actor_of,
    new_token,
    token_digest,
)
from apps.shops.models.authorizations import AuthorizationCode
from apps.shops.models.purchases import AppPurchase
from apps.shops.models.retiring import RetiringSecret
from apps.shops.models.shops import DOMAIN, Shop

__all__ = [
    "DOMAIN",
    "TOKEN_PREFIX",
    "AccessToken",
    "App",
    "AppPurchase",
    "AuthorizationCode",
    "Installation",
    "RetiringSecret",
    "Shop",
    "actor_of",
    "new_token",
    "token_digest",
]
