from django.utils.translation import gettext_lazy

from apps.content.admin import articles, comments, mobile, pages, redirects, script_tags, store_files, themes
from apps.content.models import Article, ArticleTag, ArticleVersion, Asset, AssetVersion, Comment
from apps.core.admin.model_admin.delete_preview import DeleteLabel, delete_labels

delete_labels.add(
    DeleteLabel(Article, gettext_lazy("article"), gettext_lazy("articles")),
    DeleteLabel(ArticleTag, gettext_lazy("tag"), gettext_lazy("tags")),
    DeleteLabel(ArticleVersion, gettext_lazy("earlier version"), gettext_lazy("earlier versions")),
    DeleteLabel(Comment, gettext_lazy("comment"), gettext_lazy("comments")),
    DeleteLabel(Asset, gettext_lazy("file"), gettext_lazy("files")),
    DeleteLabel(AssetVersion, gettext_lazy("earlier version of a file"), gettext_lazy("earlier versions of files")),
)
