"""The panel: Django's admin with a site of our own."""

from django.contrib.admin.apps import AdminConfig


class PanelConfig(AdminConfig):
    """Django's admin with our own site as the default one."""

    default_site = "apps.panel.site.StaffSite"
