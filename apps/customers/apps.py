"""The customers app: people, addresses, consents, accounts."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class CustomersConfig(AppConfig):
    """Registers topics, jobs, the demo's customers, and the search index of SQLite."""

    name = "apps.customers"

    def ready(self) -> None:
        """Connect customers with the registries."""
        from apps.customers import tasks, topics
        from apps.customers.demo import store
        from apps.customers.domain import full_text, personal_data
        from apps.customers.impersonal import IMPERSONAL
        from apps.customers.models import Customer
        from apps.ground.personal import impersonal, personal
        from apps.metafields.domain.owners import register_owner
        from apps.shops.domain.demo_store import register

        impersonal(IMPERSONAL)
        register_owner("customers", "customer", Customer, scope="customers", personal=True)
        personal(personal_data.PLACES)
        topics.register_all()
        tasks.register_all()
        register("customers", store.make)
        post_migrate.connect(full_text.ensure, sender=self, dispatch_uid="customers.full_text")
