"""The public pages of customers' accounts."""

from django.urls import path

from apps.api import routing
from apps.customers.public.views import activate

__all__ = ["routing", "urlpatterns"]  # the import registers the id converter

urlpatterns = [path("activate/<slug:shop>/<id:customer>/<str:token>", activate, name="activate-account")]
