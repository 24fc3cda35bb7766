"""The staff face of content."""

from apps.content.admin import articles, mobile, script_tags, store_files, themes
from apps.content.models import Article, ArticleTag, ArticleVersion, Asset, AssetVersion
from apps.panel.screens.deleting import tell_as

tell_as(Article, "article", "articles")
tell_as(ArticleTag, "tag", "tags")
tell_as(ArticleVersion, "earlier text", "earlier texts")
tell_as(Asset, "file", "files")
tell_as(AssetVersion, "earlier version of a file", "earlier versions of files")

__all__ = ["articles", "mobile", "script_tags", "store_files", "themes"]
