from django.apps import AppConfig


class MetafieldsConfig(AppConfig):
    name = "apps.metafields"

    def ready(self) -> None:
        from apps.metafields.domain.owners import add_metafield_relations

        add_metafield_relations()
