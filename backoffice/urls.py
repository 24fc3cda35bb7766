"""Root URL configuration."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import include, path

from apps.shops.public.authorize import redirect_to_approval
from backoffice.observability import health
from backoffice.observability.metrics.views import metrics_view


def redirect_to_panel(request: HttpRequest) -> HttpResponse:
    """Redirect from ``/`` to the panel. On a shop's domain, ``/`` is the storefront's and not ours."""
    if hasattr(request, "host_shop_domain"):
        raise Http404
    return redirect("entrance")


urlpatterns = [
    path("", include("backoffice.api_urls")),
    path("", redirect_to_panel),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics_view, name="metrics"),
    path("", include("apps.content.storefront.urls")),
    path("", include("apps.payments.public.urls")),
    path("accounts/", include("apps.staff.accounts.urls")),
    path("admin/oauth/authorize", redirect_to_approval, name="authorize"),
    # A shop's panel is at /s/<handle>/admin/. ShopMiddleware routes these URLs (apps/staff/panel_urls.py).
    path("admin/", include("apps.shops.admin.global_urls")),
]

handler400 = "apps.core.admin.pages.error_pages.bad_request"
handler403 = "apps.core.admin.pages.error_pages.permission_denied"
handler404 = "apps.core.admin.pages.error_pages.page_not_found"
handler500 = "apps.core.admin.pages.error_pages.server_error"
