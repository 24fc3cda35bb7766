"""The fulfillment app: who prepares and ships what was ordered."""

from django.apps import AppConfig


class FulfillmentConfig(AppConfig):
    """Registers topics, tasks, the demo, what orders show and ask, what of people's data is kept, and services."""

    name = "apps.fulfillment"

    def ready(self) -> None:
        """Connect fulfillment with the registries."""
        from apps.api.resources.related import Rows
        from apps.catalog.domain import fulfillers
        from apps.customers.domain import personal_data
        from apps.fulfillment import demo, tasks, topics
        from apps.fulfillment.api.fulfillments import FulfillmentSerializer
        from apps.fulfillment.domain import ordering, reconciliation, records, services
        from apps.fulfillment.impersonal import IMPERSONAL
        from apps.fulfillment.public import parcels
        from apps.ground.personal import impersonal, personal
        from apps.inventory.domain.locations import objection
        from apps.jobs.domain import reconciliation as nightly
        from apps.orders.api.orders import show
        from apps.orders.domain import hooks
        from apps.orders.public import chapters
        from apps.shops.domain.demo_store import register
        from apps.shops.domain.installing import on_uninstall

        impersonal(IMPERSONAL)
        personal(ordering.PLACES)
        topics.register_all()
        tasks.register_all()
        hooks.on_create(ordering.created)
        hooks.on_cancel(ordering.cancelled)
        hooks.on_edit(ordering.edited)
        hooks.on_erase(ordering.erase)
        chapters.register(parcels.TEMPLATE, parcels.tell)
        show("fulfillments", Rows(FulfillmentSerializer, "fulfillments"))
        objection("fulfillment orders", ordering.objections)
        nightly.register("units of fulfillment orders", reconciliation.units)
        nightly.register("units sent", reconciliation.sent)
        personal_data.register("calls to fulfillment services", redact=records.redact, places=records.PLACES)
        fulfillers.register(services.handles)
        register("fulfillment", demo.make)
        on_uninstall("fulfillment services", services.remove_with_app)
