"""Routes for a shop's panel, relative to ``/s/<handle>/admin/``."""

from django.contrib import admin
from django.urls import path

urlpatterns = [path("", admin.site.urls)]

handler400 = "apps.panel.error_pages.bad_request"
handler403 = "apps.panel.error_pages.permission_denied"
handler404 = "apps.panel.error_pages.page_not_found"
handler500 = "apps.panel.error_pages.server_error"
