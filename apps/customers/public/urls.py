from django.urls import path

from apps.core.rest import routing
from apps.customers.public.views import activate_account

__all__ = ["routing", "urlpatterns"]  # the import registers the id converter

urlpatterns = [path("activate/<slug:shop>/<id:customer>/<str:token>", activate_account, name="activate-account")]
