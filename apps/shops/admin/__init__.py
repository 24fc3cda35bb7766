from apps.core.tenancy.permissions import allow, grants
from apps.shops.admin.installations import InstallationAdmin
from apps.shops.admin.registrations import AppAdmin
from apps.shops.admin.settings import ShopAdmin
from apps.shops.admin.taxes import ShopCountryAdmin

grants.add(
    allow("preferences", "vc", "shops.shop", "shops.shopcountry"),
    allow("applications", "v", "shops.app", "shops.accesstoken"),
    allow("applications", "vad", "shops.installation"),
    allow("billing_application_charges", "vc", "shops.apppurchase", "shops.recurringcharge"),
    allow("billing_application_charges", "v", "shops.installation"),
    allow("view_private_apps", "v", "shops.app", "shops.installation", "shops.accesstoken"),
    allow("edit_private_apps", "vacd", "shops.app"),
    allow("edit_private_apps", "vc", "shops.installation"),
    allow("edit_private_apps", "vad", "shops.accesstoken"),
)
