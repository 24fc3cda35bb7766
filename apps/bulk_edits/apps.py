from django.apps import AppConfig


class BulkEditsConfig(AppConfig):
    name = "apps.bulk_edits"
