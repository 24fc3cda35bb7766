"""App configuration of the panel."""

from django.contrib.admin.apps import AdminConfig


class PanelConfig(AdminConfig):
    """Django's admin with ``StaffSite`` as the default site."""

    default_site = "apps.panel.site.StaffSite"
