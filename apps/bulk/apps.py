"""App configuration for bulk edits."""

from django.apps import AppConfig


class BulkConfig(AppConfig):
    name = "apps.bulk"

    def ready(self) -> None:
        """Register bulk edit targets, permissions, topics, tasks, and privacy handlers."""
        from apps.bulk import targets, tasks, topics
        from apps.bulk.privacy import NON_PERSONAL_COLUMNS
        from apps.bulk.targets import privacy
        from apps.ground.privacy_registry import declare_non_personal

        declare_non_personal(NON_PERSONAL_COLUMNS)
        targets.register_targets()
        privacy.register_privacy_handler()
        topics.register_bulk_topics()
        tasks.register_bulk_tasks()
