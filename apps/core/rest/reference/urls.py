from django.urls import path

from apps.core.rest.reference import views

urlpatterns = [
    path("", views.redirect_to_version, name="docs"),
    path("api/", views.redirect_to_version),
    path("api/errors/", views.error_list, name="api-errors"),
    path("api/deprecations/", views.deprecations, name="api-deprecations"),
    path("api/<str:version>/", views.index, name="api-docs"),
    path("api/<str:version>/search.json", views.search, name="api-docs-search"),
    path("api/<str:version>/<slug:slug>/", views.resource, name="api-docs-resource"),
]
