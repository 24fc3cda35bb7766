"""Panel pages for shops: settings, installed apps and registered apps."""

from apps.shops.admin.installations import InstallationAdmin
from apps.shops.admin.registrations import AppAdmin
from apps.shops.admin.settings import ShopAdmin
from apps.staff.domain.permissions import grant_permissions

grant_permissions("preferences", "vc", "shops.shop")
grant_permissions("applications", "v", "shops.app", "shops.accesstoken")
grant_permissions("applications", "vad", "shops.installation")
grant_permissions("view_private_apps", "v", "shops.app", "shops.installation", "shops.accesstoken")
grant_permissions("edit_private_apps", "vacd", "shops.app")
grant_permissions("edit_private_apps", "vc", "shops.installation")
grant_permissions("edit_private_apps", "vad", "shops.accesstoken")

__all__ = ["AppAdmin", "InstallationAdmin", "ShopAdmin"]
