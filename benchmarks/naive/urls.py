"""URLs for the measured requests."""

from django.urls import path

from benchmarks.naive.views import CustomerViewSet

urlpatterns = [
    path("admin/api/2026-10/customers.json", CustomerViewSet.as_view({"get": "list", "post": "create"})),
    path("admin/api/2026-10/customers/<int:pk>.json", CustomerViewSet.as_view({"get": "retrieve"})),
]
