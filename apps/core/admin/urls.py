"""Routes for a shop's panel, relative to ``/s/<handle>/admin/``."""

from django.contrib import admin
from django.urls import path

urlpatterns = [path("", admin.site.urls)]

handler400 = "apps.core.admin.pages.error_pages.bad_request"
handler403 = "apps.core.admin.pages.error_pages.permission_denied"
handler404 = "apps.core.admin.pages.error_pages.page_not_found"
handler500 = "apps.core.admin.pages.error_pages.server_error"
