"""Create the tokens that an app passes on to storefronts, and delete them when the app is uninstalled.

No route of this product accepts such a token.
"""

import secrets
from datetime import datetime

from django.db import transaction

from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import too_many
from apps.core.tenancy.models import Installation
from apps.shops.domain.app_installation import lock_active
from apps.shops.models import StorefrontAccessToken

MAX_TOKENS = 100


class TooManyTokens(DomainError):
    pass


@transaction.atomic(savepoint=False)
def create_storefront_token(
    installation: Installation, title: str, *, actor: str, at: datetime
) -> StorefrontAccessToken:
    """Create a token.

    Raises:
        NotInstalled: The app was uninstalled in the meantime.
        TooManyTokens: The app already has the maximum number of tokens in this shop.
    """
    lock_active(installation.app_id)
    if StorefrontAccessToken.objects.filter(app_id=installation.app_id).count() >= MAX_TOKENS:
        raise TooManyTokens(too_many("tokens", MAX_TOKENS))
    token = StorefrontAccessToken.objects.create(
        shop_id=installation.shop_id,
        app_id=installation.app_id,
        title=title,
        token=secrets.token_hex(16),
        created_at=at,
    )
    record_event("storefront_access_tokens/create", token, actor=actor, at=at)
    return token


def delete_storefront_tokens(installation: Installation, at: datetime) -> None:
    """Delete the tokens of an app that is being uninstalled."""
    StorefrontAccessToken.objects.filter(app_id=installation.app_id).delete()
