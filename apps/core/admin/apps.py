from django.contrib.admin.apps import AdminConfig


class PanelConfig(AdminConfig):
    default_site = "apps.core.admin.site.StaffSite"
