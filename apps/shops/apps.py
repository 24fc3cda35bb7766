from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ShopsConfig(AppConfig):
    name = "apps.shops"

    def ready(self) -> None:
        from apps.core.db import id_sequences, planner_statistics, sort_tables
        from apps.core.tenancy import read_only

        post_migrate.connect(id_sequences.initialize_sequences, sender=self, dispatch_uid="ids.start_high")
        post_migrate.connect(sort_tables.create_all_sort_triggers, sender=self, dispatch_uid="ranks.ensure_all")
        post_migrate.connect(read_only.restore_triggers, sender=self, dispatch_uid="shops.read_only")
        post_migrate.connect(
            planner_statistics.set_shop_id_statistics, sender=self, dispatch_uid="statistics.take_for_shared"
        )
