"""The staff face of content."""

from django.utils.translation import gettext_lazy

from apps.content.admin import articles, mobile, script_tags, store_files, themes
from apps.content.models import Article, ArticleTag, ArticleVersion, Asset, AssetVersion
from apps.panel.screens.deleting import tell_as

tell_as(Article, gettext_lazy("article"), gettext_lazy("articles"))
tell_as(ArticleTag, gettext_lazy("tag"), gettext_lazy("tags"))
tell_as(ArticleVersion, gettext_lazy("earlier text"), gettext_lazy("earlier texts"))
tell_as(Asset, gettext_lazy("file"), gettext_lazy("files"))
tell_as(AssetVersion, gettext_lazy("earlier version of a file"), gettext_lazy("earlier versions of files"))

__all__ = ["articles", "mobile", "script_tags", "store_files", "themes"]
