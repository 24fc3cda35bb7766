"""Routes for the REST API. The URLs of all resources begin with a path that contains the API version."""

from django.urls import URLPattern, URLResolver, include, path

from apps.catalog.urls import image_urlpatterns
from apps.core.rest.openapi import views
from apps.core.rest.routing import VersionedResolver, api_path
from apps.shops.api.oauth import issue_access_token
from apps.shops.api.views import AccessScopeView, InstallationView, not_found

resources: list[URLPattern | URLResolver] = [
    path("openapi.json", views.openapi_document, name="openapi"),
    path("", include("apps.core.graphql.urls")),
    path("", include("apps.shops.urls")),
    path("", include("apps.staff.urls")),
    path("", include("apps.metafields.urls")),
    path("", include("apps.webhooks.urls")),
    path("", include("apps.inventory.urls")),
    path("", include("apps.catalog.urls")),
    path("", include("apps.content.urls")),
    path("", include("apps.customers.urls")),
    path("", include("apps.orders.urls")),
    path("", include("apps.fulfillment.urls")),
    path("", include("apps.refunds.urls")),
    path("", include("apps.payments.urls")),
    path("", include("apps.gift_cards.urls")),
    path("", include("apps.discounts.urls")),
    path("", include("apps.draft_orders.urls")),
    path("", include("apps.store_imports.urls")),
    path("", include("apps.audit_log.urls")),
]

urlpatterns = [
    VersionedResolver(resources),
    path("admin/oauth/access_token", issue_access_token),
    api_path("admin/oauth/access_scopes.json", AccessScopeView, get="list"),
    api_path("admin/api_permissions/current.json", InstallationView, delete="destroy"),
    path("admin/api/<path:path>", not_found),
    *image_urlpatterns,
    path("docs/", include("apps.core.rest.reference.urls")),
    path("account/", include("apps.customers.public.urls")),
    path("", include("apps.orders.public.urls")),
    path("", include("apps.draft_orders.public.urls")),
]
