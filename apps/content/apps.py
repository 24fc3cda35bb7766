"""App config for the content app."""

from django.apps import AppConfig


class ContentConfig(AppConfig):
    """App config for the content app."""

    name = "apps.content"

    def ready(self) -> None:
        """Register the topics, tasks, metafield owners, demo data, starter theme and uninstall cleanup."""
        from apps.content import tasks, topics
        from apps.content.demo import load
        from apps.content.domain import article_images, script_tags, theme_extraction
        from apps.content.models import Article, Blog
        from apps.content.privacy import NON_PERSONAL_COLUMNS
        from apps.ground.privacy_registry import declare_non_personal
        from apps.media import metadata_stripping
        from apps.metafields.domain.owners import register_owner
        from apps.shops.domain.app_installation import register_uninstall_cleaner
        from apps.shops.domain.demo_store import register_demo_data
        from apps.shops.domain.shop_creation import register_shop_initializer

        declare_non_personal(NON_PERSONAL_COLUMNS)
        register_owner("blogs", "blog", Blog, scope="content")
        register_owner("articles", "article", Article, scope="content", below="blogs/<blog_id>/articles")
        topics.register_content_topics()
        metadata_stripping.register_metadata_stripper("article images", article_images.strip_article_images)
        tasks.register_content_tasks()
        register_shop_initializer("theme", theme_extraction.create_starter_theme)
        register_demo_data("content", load.load_demo_content)
        register_uninstall_cleaner("script tags", script_tags.delete_script_tags)
