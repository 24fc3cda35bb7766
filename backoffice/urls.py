"""The root of all routes."""

from django.urls import include, path

from backoffice import health

urlpatterns = [
    path("", include("backoffice.interface")),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("", include("apps.content.storefront_urls")),
    path("accounts/", include("apps.staff.account_urls")),
    # A shop's own panel lies below /s/<handle>/admin/; ShopMiddleware leads there (apps/staff/panel_urls.py).
    path("admin/", include("apps.staff.outer_urls")),
]

handler400 = "apps.staff.views.bad_request"
handler403 = "apps.staff.views.permission_denied"
handler404 = "apps.staff.views.page_not_found"
handler500 = "apps.staff.views.server_error"
