"""App config for customers."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class CustomersConfig(AppConfig):
    """App config for customers."""

    name = "apps.customers"

    def ready(self) -> None:
        """Register topics, jobs, personal data, the demo customers and the SQLite search index."""
        from apps.customers import tasks, topics
        from apps.customers.demo import load
        from apps.customers.domain import personal_data, sqlite_fts
        from apps.customers.models import Customer
        from apps.customers.privacy import NON_PERSONAL_COLUMNS
        from apps.ground.privacy_registry import declare_non_personal, declare_personal
        from apps.metafields.domain.owners import register_owner
        from apps.shops.domain.demo_store import register_demo_data

        declare_non_personal(NON_PERSONAL_COLUMNS)
        register_owner("customers", "customer", Customer, scope="customers", personal=True)
        declare_personal(personal_data.PERSONAL_COLUMNS)
        topics.register_customers_topics()
        tasks.register_customer_tasks()
        register_demo_data("customers", load.load_demo_customers)
        post_migrate.connect(sqlite_fts.create_search_index, sender=self, dispatch_uid="customers.full_text")
