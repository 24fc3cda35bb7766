"""The staff face of shops: settings, installed apps and their tokens."""

from apps.shops.admin.installations import InstallationAdmin
from apps.shops.admin.registrations import AppAdmin
from apps.shops.admin.settings import ShopAdmin
from apps.staff.domain.permissions import grant

grant("preferences", "vc", "shops.shop")
grant("applications", "v", "shops.app", "shops.accesstoken")
grant("applications", "vad", "shops.installation")
grant("view_private_apps", "v", "shops.app", "shops.installation", "shops.accesstoken")
grant("edit_private_apps", "vacd", "shops.app")
grant("edit_private_apps", "vc", "shops.installation")
grant("edit_private_apps", "vad", "shops.accesstoken")

__all__ = ["AppAdmin", "InstallationAdmin", "ShopAdmin"]
