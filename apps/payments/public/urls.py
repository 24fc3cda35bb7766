from django.conf import settings
from django.urls import path

from apps.payments.public import views

urlpatterns = [
    path("schemas/wallet-pay/", views.list_schema_versions),
    path("schemas/<path:name>", views.serve_document),
    path(settings.DISCOVERY_PATH, views.serve_profile),
]
