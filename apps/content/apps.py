"""The content app: what shops show on their pages."""

from django.apps import AppConfig


class ContentConfig(AppConfig):
    """Registers topics and tasks, what a new shop starts with, and what goes with an uninstalled app."""

    name = "apps.content"

    def ready(self) -> None:
        """Connect content with the registries."""
        from apps.content import tasks, topics
        from apps.content.demo import store
        from apps.content.domain import extraction, pictures, script_tags
        from apps.content.impersonal import IMPERSONAL
        from apps.content.models import Article, Blog
        from apps.ground.personal import impersonal
        from apps.media import cleaning
        from apps.metafields.domain.owners import register_owner
        from apps.shops.domain.demo_store import register
        from apps.shops.domain.installing import on_uninstall
        from apps.shops.domain.opening import starter

        impersonal(IMPERSONAL)
        register_owner("blogs", "blog", Blog, scope="content")
        register_owner("articles", "article", Article, scope="content", below="blogs/<blog_id>/articles")
        topics.register_all()
        cleaning.register("pictures of articles", pictures.clean_articles)
        tasks.register_all()
        starter("theme", extraction.start_shop)
        register("content", store.make)
        on_uninstall("script tags", script_tags.remove_script_tags)
