"""The public routes of payments, outside of the interface."""

from django.conf import settings
from django.urls import path

from apps.payments.public import views

urlpatterns = [
    path("schemas/wallet-pay/", views.versions),
    path("schemas/<path:name>", views.document),
    path(settings.DISCOVERY_PATH, views.profile),
]
