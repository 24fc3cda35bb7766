"""The routes of the REST interface: those of every domain, below the version."""

from django.urls import URLPattern, URLResolver, include, path

from apps.api.openapi import views
from apps.api.routing import Versioned, route
from apps.catalog.urls import picture_urlpatterns
from apps.shops.api.oauth import access_token
from apps.shops.api.views import AccessScopeView, CurrencyView, InstallationView, ShopView, not_found

resources: list[URLPattern | URLResolver] = [
    route("shop.json", ShopView, get="retrieve"),
    route("currencies.json", CurrencyView, get="list"),
    # Where the public client libraries look for it.
    route("api_permissions/current.json", InstallationView, delete="destroy"),
    path("openapi.json", views.schema, name="openapi"),
    path("", include("apps.graphql.urls")),
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
    path("", include("apps.events.urls")),
]

urlpatterns = [
    Versioned(resources),
    path("admin/oauth/access_token", access_token),
    route("admin/oauth/access_scopes.json", AccessScopeView, get="list"),
    route("admin/api_permissions/current.json", InstallationView, delete="destroy"),
    path("admin/api/<path:rest>", not_found),
    *picture_urlpatterns,
    path("docs/", include("apps.api.reference.urls")),
    path("account/", include("apps.customers.public.urls")),
    path("", include("apps.orders.public.urls")),
]
