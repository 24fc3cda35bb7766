"""The content app: what shops show on their pages."""

from django.apps import AppConfig


class ContentConfig(AppConfig):
    """Registers topics and tasks, what a new shop starts with, and what goes with an uninstalled app."""

    name = "apps.content"

    def ready(self) -> None:
        """Connect content with the registries."""
        from apps.content import demo, extraction, services, tasks, topics
        from apps.content.models import Article, Blog
        from apps.metafields.owners import register_owner
        from apps.shops.demo import register
        from apps.shops.services import on_uninstall, starter

        register_owner("blogs", "blog", Blog, scope="content")
        register_owner("articles", "article", Article, scope="content", below="blogs/<blog_id>/articles")
        topics.register_all()
        tasks.register_all()
        starter("theme", extraction.start_shop)
        register("content", demo.make)
        on_uninstall("script tags", services.remove_script_tags)
