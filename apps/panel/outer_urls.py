"""The routes below ``/admin/`` that belong to no shop's panel."""

from django.urls import path

from apps.panel import entrance

urlpatterns = [
    path("", entrance.entrance, name="entrance"),
    path("shops/", entrance.chooser, name="shops"),
    path("shops/new/", entrance.new_shop, name="new-shop"),
]
