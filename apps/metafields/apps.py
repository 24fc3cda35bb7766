"""App config for the metafields app."""

from django.apps import AppConfig


class MetafieldsConfig(AppConfig):
    """App config that adds the private fields of metafields to all models that can have metafields."""

    name = "apps.metafields"

    def ready(self) -> None:
        from apps.metafields.domain.owners import add_metafield_relations

        add_metafield_relations()
