from django.apps import AppConfig


class ImportsExportsConfig(AppConfig):
    name = "apps.imports_exports"
