"""Shops, their apps with installations and access tokens, and staff with their memberships.

The tables keep the labels of the apps that have the pages for them: ``shops`` and ``staff``.
"""

from apps.core.tenancy.models.apps import (
    TOKEN_PREFIX,
    AccessToken,
    App,
    Installation,
    generate_token,
    get_app_actor,
    hash_token,
)
from apps.core.tenancy.models.memberships import Membership
from apps.core.tenancy.models.panel import ListColumns, SavedView, SentForm
from apps.core.tenancy.models.shops import DOMAIN, Shop
from apps.core.tenancy.models.users import User, UserManager
