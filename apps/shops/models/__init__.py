"""Models for shops, apps and tokens."""

from apps.shops.models.apps import (
    TOKEN_PREFIX,
    AccessToken,
    App,
    Installation,
    generate_token,
    get_app_actor,
    hash_token,
)
from apps.shops.models.authorizations import AuthorizationCode
from apps.shops.models.purchases import AppPurchase
from apps.shops.models.retiring_secrets import RetiringSecret
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
    "generate_token",
    "get_app_actor",
    "hash_token",
]
