"""App configuration for shops, apps, installations and tokens."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ShopsConfig(AppConfig):
    """The configuration of the shops app, including database setup for all apps."""

    name = "apps.shops"

    def ready(self) -> None:
        """Register topics, housekeeping tasks and post-migrate handlers."""
        from apps.ground import id_sequences, planner_statistics, sort_tables
        from apps.ground.privacy_registry import declare_non_personal
        from apps.jobs.domain import housekeeping
        from apps.jobs.domain.periodic_tasks import minute_tasks
        from apps.shops import topics
        from apps.shops.domain import oauth, purchases, read_only
        from apps.shops.privacy import NON_PERSONAL_COLUMNS

        declare_non_personal(NON_PERSONAL_COLUMNS)
        topics.register_shops_topics()
        housekeeping.register_hourly_task("expired app codes and tokens", oauth.delete_expired_codes_and_tokens)
        minute_tasks.register("expired app purchases", purchases.expire_purchases)
        post_migrate.connect(id_sequences.initialize_sequences, sender=self, dispatch_uid="ids.start_high")
        post_migrate.connect(sort_tables.create_all_sort_triggers, sender=self, dispatch_uid="ranks.ensure_all")
        post_migrate.connect(read_only.restore_triggers, sender=self, dispatch_uid="shops.read_only")
        post_migrate.connect(
            planner_statistics.set_shop_id_statistics, sender=self, dispatch_uid="statistics.take_for_shared"
        )
