"""The routes of the reference."""

from django.urls import path

from apps.api.reference import views

urlpatterns = [
    path("", views.entrance, name="docs"),
    path("api/", views.entrance),
    path("api/errors/", views.mistakes, name="api-errors"),
    path("api/deprecations/", views.deprecations, name="api-deprecations"),
    path("api/<str:version>/", views.index, name="api-docs"),
    path("api/<str:version>/search.json", views.search, name="api-docs-search"),
    path("api/<str:version>/<slug:slug>/", views.resource, name="api-docs-resource"),
]
