"""The shops app: shops, apps, installations and tokens."""

from django.apps import AppConfig


class ShopsConfig(AppConfig):
    """Registers the topics of shops and apps."""

    name = "apps.shops"

    def ready(self) -> None:
        """Add topics."""
        from apps.shops import topics

        topics.register_all()
