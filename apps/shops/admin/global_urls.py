"""Routes under ``/admin/`` for pages that do not belong to a shop."""

from django.urls import path

from apps.shops.admin import shop_chooser

urlpatterns = [
    path("", shop_chooser.redirect_to_shop, name="entrance"),
    path("shops/", shop_chooser.choose_shop, name="shops"),
    path("shops/new/", shop_chooser.add_shop, name="new-shop"),
]
