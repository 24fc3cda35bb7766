"""The routes of one shop's panel, relative to ``/s/<handle>/admin/``."""

from django.contrib import admin
from django.urls import path

urlpatterns = [path("", admin.site.urls)]

handler400 = "apps.staff.views.bad_request"
handler403 = "apps.staff.views.permission_denied"
handler404 = "apps.staff.views.page_not_found"
handler500 = "apps.staff.views.server_error"
