from django.apps import AppConfig
from django.db.models.signals import post_migrate, pre_migrate


class CustomersConfig(AppConfig):
    name = "apps.customers"

    def ready(self) -> None:
        from apps.customers.domain import search_columns

        pre_migrate.connect(search_columns.move_search_triggers_first, sender=self, dispatch_uid="customers.triggers")
        post_migrate.connect(search_columns.create_search_index, sender=self, dispatch_uid="customers.full_text")
