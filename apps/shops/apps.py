"""The shops app: shops, apps, installations and tokens."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ShopsConfig(AppConfig):
    """Registers the topics of shops and apps, where the ids of all tables begin, and what plans expect of them."""

    name = "apps.shops"

    def ready(self) -> None:
        """Add topics, and let ended codes and tokens go."""
        from apps.ground import ids, ranks, statistics
        from apps.ground.personal import impersonal
        from apps.jobs.domain import housekeeping
        from apps.jobs.domain.duties import each_minute
        from apps.shops import topics
        from apps.shops.domain import authorizing, purchases, read_only
        from apps.shops.impersonal import IMPERSONAL

        impersonal(IMPERSONAL)
        topics.register_all()
        housekeeping.register("codes and tokens of apps", authorizing.clear)
        each_minute.register("purchases of apps that expired", purchases.expire)
        post_migrate.connect(ids.start_high, sender=self, dispatch_uid="ids.start_high")
        post_migrate.connect(ranks.ensure_all, sender=self, dispatch_uid="ranks.ensure_all")
        post_migrate.connect(read_only.ensure, sender=self, dispatch_uid="shops.read_only")
        post_migrate.connect(statistics.take_for_shared, sender=self, dispatch_uid="statistics.take_for_shared")
