from apps.content.domain import article_images, script_tags, theme_extraction
from apps.content.models import Article, Blog, Page
from apps.core.media.metadata import metadata_strippers
from apps.metafields.domain.owners import OwnerType, owner_types
from apps.shops.domain.app_installation import uninstall_cleaners
from apps.shops.domain.shop_creation import shop_initializers

metadata_strippers.register("article images", article_images.strip_article_images)
shop_initializers.register("theme", theme_extraction.create_starter_theme)
uninstall_cleaners.register("script tags", script_tags.delete_script_tags)
owner_types.add(
    OwnerType("blogs", "blog", Blog, scope="content"),
    OwnerType("articles", "article", Article, scope="content", nested_path="blogs/<blog_id>/articles"),
    OwnerType("pages", "page", Page, scope="content"),
)
