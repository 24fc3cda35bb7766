"""The root of all routes."""

from django.urls import include, path

from apps.shops.public.authorize import authorize
from backoffice import health
from backoffice.metrics.views import metrics

urlpatterns = [
    path("", include("backoffice.interface")),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("", include("apps.content.public.urls")),
    path("", include("apps.payments.public.urls")),
    path("accounts/", include("apps.staff.accounts.urls")),
    path("admin/oauth/authorize", authorize, name="authorize"),
    # A shop's own panel lies below /s/<handle>/admin/; ShopMiddleware leads there (apps/staff/panel_urls.py).
    path("admin/", include("apps.panel.outer_urls")),
]

handler400 = "apps.panel.error_pages.bad_request"
handler403 = "apps.panel.error_pages.permission_denied"
handler404 = "apps.panel.error_pages.page_not_found"
handler500 = "apps.panel.error_pages.server_error"
