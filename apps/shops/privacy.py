"""Declare which columns of the shops app never contain customers' personal data.

See ``apps.ground.privacy_registry``.
"""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "shops.App": ("name", "api_key", "api_secret", "application_url", "redirect_urls", "scopes"),
    "shops.AppPurchase": ("name", "currency"),
    "shops.RetiringSecret": ("secret",),
    "shops.AuthorizationCode": ("digest", "redirect_uri", "scopes"),
    "shops.Installation": ("scopes",),
    "shops.AccessToken": ("digest", "prefix", "created_by"),
    "shops.Shop": (
        "handle",
        "domain",
        "name",
        "email",
        "customer_email",
        "owner_name",
        "phone",
        "address1",
        "address2",
        "city",
        "zip",
        "province",
        "province_code",
        "country_code",
        "currency",
        "presentment_currencies",
        "timezone",
        "primary_locale",
        "copied_from",
    ),
}
