"""Models for shops, apps and tokens."""

from apps.core.tenancy.models.apps import (
    TOKEN_PREFIX,
    AccessToken,
    App,
    Installation,
    generate_token,
    get_app_actor,
    hash_token,
)
from apps.core.tenancy.models.shops import DOMAIN, Shop
from apps.shops.models.credentials import AuthorizationCode, RetiringSecret
from apps.shops.models.purchases import AppPurchase

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
    "generate_token",
    "get_app_actor",
    "hash_token",
]
