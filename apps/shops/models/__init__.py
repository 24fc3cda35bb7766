from apps.core.tenancy.models import AccessToken, App, Installation, Shop
from apps.shops.models.credentials import AuthorizationCode, RetiringSecret
from apps.shops.models.purchases import AppPurchase
