"""App configuration for the panel."""

from django.contrib.admin.apps import AdminConfig


class PanelConfig(AdminConfig):
    """The configuration of Django's admin with ``StaffSite`` as the default site."""

    default_site = "apps.core.admin.site.StaffSite"
