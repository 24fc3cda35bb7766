"""Panel pages for blogs, articles, mobile apps, script tags, files and themes."""

from django.utils.translation import gettext_lazy

from apps.content.admin import articles, mobile, script_tags, store_files, themes
from apps.content.models import Article, ArticleTag, ArticleVersion, Asset, AssetVersion
from apps.panel.admin_base.delete_preview import register_delete_label

register_delete_label(Article, gettext_lazy("article"), gettext_lazy("articles"))
register_delete_label(ArticleTag, gettext_lazy("tag"), gettext_lazy("tags"))
register_delete_label(ArticleVersion, gettext_lazy("earlier version"), gettext_lazy("earlier versions"))
register_delete_label(Asset, gettext_lazy("file"), gettext_lazy("files"))
register_delete_label(
    AssetVersion, gettext_lazy("earlier version of a file"), gettext_lazy("earlier versions of files")
)

__all__ = ["articles", "mobile", "script_tags", "store_files", "themes"]
