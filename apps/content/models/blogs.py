from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy

from apps.content.models.files import FileContent
from apps.core.i18n.error_messages import TAKEN
from apps.core.models import MAX_FOLDED, VersionField
from apps.core.tenancy.shop_owned import ShopOwned


class Blog(ShopOwned):
    """A series of articles. ``tags`` contains the sorted tags of the articles, and is never set directly."""

    class Commentable(models.TextChoices):
        NO = "no", gettext_lazy("No comments")
        MODERATE = "moderate", gettext_lazy("Comments are moderated")
        YES = "yes", gettext_lazy("Comments are published immediately")

    title = models.CharField(gettext_lazy("title"), max_length=255)
    handle = models.CharField(gettext_lazy("handle"), max_length=255)
    commentable = models.CharField(gettext_lazy("comments"), max_length=10, choices=Commentable, default=Commentable.NO)
    template_suffix = models.CharField(gettext_lazy("template suffix"), max_length=255, null=True, blank=True)
    tags = models.TextField(gettext_lazy("tags"), blank=True, editable=False)
    version = VersionField()

    # The tags of all articles.
    unrecorded_fields = ("tags",)
    non_personal_fields = ("title", "handle", "template_suffix", "tags")

    class Meta:
        verbose_name = gettext_lazy("blog")
        verbose_name_plural = gettext_lazy("blogs")
        constraints = (
            models.UniqueConstraint(
                fields=("shop", "handle"),
                name="content_blog_handle_once_per_shop",
                violation_error_message=TAKEN,
            ),
        )

    def __str__(self) -> str:
        return self.title


class Article(ShopOwned):
    """A post in a blog. It is not visible before ``published_at``.

    ``body_html`` is stored exactly as received. The panel sanitizes the HTML before display.
    """

    blog = models.ForeignKey(Blog, on_delete=models.CASCADE, related_name="articles", verbose_name=gettext_lazy("blog"))
    title = models.CharField(gettext_lazy("title"), max_length=255)
    handle = models.CharField(gettext_lazy("handle"), max_length=255)
    body_html = models.TextField(gettext_lazy("content"), blank=True)
    summary_html = models.TextField(gettext_lazy("excerpt"), null=True, blank=True)
    author = models.CharField(gettext_lazy("author"), max_length=255)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        editable=False,
        verbose_name=gettext_lazy("user"),
    )
    tags = models.TextField(gettext_lazy("tags"), blank=True)
    template_suffix = models.CharField(gettext_lazy("template suffix"), max_length=255, null=True, blank=True)
    published_at = models.DateTimeField(gettext_lazy("published at"), null=True, blank=True)
    image = models.ForeignKey(
        FileContent,
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        editable=False,
        verbose_name=gettext_lazy("image"),
    )
    image_name = models.CharField(max_length=255, blank=True, editable=False)
    image_alt = models.CharField(gettext_lazy("image alt"), max_length=512, null=True, blank=True)
    image_width = models.PositiveIntegerField(default=0, editable=False)
    image_height = models.PositiveIntegerField(default=0, editable=False)
    image_created_at = models.DateTimeField(null=True, editable=False)
    version = VersionField()

    non_personal_fields = (
        "title",
        "handle",
        "body_html",
        "summary_html",
        "author",
        "tags",
        "template_suffix",
        "image_name",
        "image_alt",
    )

    class Meta:
        verbose_name = gettext_lazy("article")
        verbose_name_plural = gettext_lazy("articles")
        constraints = (
            models.UniqueConstraint(
                fields=("blog", "handle"),
                name="content_article_handle_once_per_blog",
                violation_error_message=TAKEN,
                violation_error_code="handle",
            ),
        )
        indexes = (
            models.Index(fields=("shop", "blog", "-id"), name="content_article_by_blog"),
            models.Index(fields=("shop", "author"), name="content_article_by_author"),
        )

    def __str__(self) -> str:
        return self.title


class ArticleVersion(ShopOwned):
    """An earlier version of an article's text. ``actor`` is the actor who replaced this version."""

    article = models.ForeignKey(
        Article, on_delete=models.CASCADE, related_name="text_versions", verbose_name=gettext_lazy("article")
    )
    title = models.CharField(gettext_lazy("title"), max_length=255)
    body_html = models.TextField(gettext_lazy("body html"), blank=True)
    summary_html = models.TextField(gettext_lazy("summary html"), null=True, blank=True)
    actor = models.CharField(max_length=100)
    replaced_at = models.DateTimeField()

    non_personal_fields = ("title", "body_html", "summary_html", "actor")

    class Meta:
        verbose_name = gettext_lazy("article version")
        verbose_name_plural = gettext_lazy("article versions")
        indexes = (models.Index(fields=("article", "-id"), name="content_articleversion_newest"),)

    def __str__(self) -> str:
        return f"{self.title} until {self.replaced_at:%Y-%m-%d %H:%M}"


class ArticleTag(ShopOwned):
    """One tag of an article. ``key`` is the case-folded tag."""

    article = models.ForeignKey(
        Article, on_delete=models.CASCADE, related_name="tag_rows", verbose_name=gettext_lazy("article")
    )
    blog = models.ForeignKey(Blog, on_delete=models.CASCADE, related_name="+", verbose_name=gettext_lazy("blog"))
    name = models.CharField(gettext_lazy("name"), max_length=255)
    key = models.CharField(gettext_lazy("key"), max_length=MAX_FOLDED)

    non_personal_fields = ("name", "key")

    class Meta:
        verbose_name = gettext_lazy("article tag")
        verbose_name_plural = gettext_lazy("article tags")
        constraints = (models.UniqueConstraint(fields=("article", "key"), name="content_articletag_once_per_article"),)
        indexes = (
            models.Index(fields=("shop", "key"), name="content_articletag_by_key"),
            models.Index(fields=("blog", "key"), name="content_articletag_by_blog"),
        )

    def __str__(self) -> str:
        return self.name
