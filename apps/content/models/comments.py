from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.content.models.blogs import Article, Blog
from apps.core.db.case_folding import MAX_EMAIL_KEY
from apps.core.i18n.messages import Message, define_message
from apps.core.models import VersionField
from apps.core.tenancy.shop_owned import ShopOwned

_LABEL = define_message("content.comment", "Comment {number}")


class Comment(ShopOwned):
    """A reader's comment on an article.

    Attributes:
        email_key: The email address in the form in which addresses are compared.
        former_status: The status before the comment was marked as spam or removed.
        hidden_at: The time when the comment was marked as spam or removed. It is deleted some time later.
    """

    class Status(models.TextChoices):
        UNAPPROVED = "unapproved", gettext_lazy("Waiting for approval")
        PUBLISHED = "published", gettext_lazy("Published")
        SPAM = "spam", gettext_lazy("Spam")
        REMOVED = "removed", gettext_lazy("Removed")

    blog = models.ForeignKey(Blog, on_delete=models.CASCADE, related_name="+", verbose_name=gettext_lazy("blog"))
    article = models.ForeignKey(
        Article, on_delete=models.CASCADE, related_name="comments", verbose_name=gettext_lazy("article")
    )
    author = models.CharField(gettext_lazy("author"), max_length=255)
    email = models.CharField(gettext_lazy("email"), max_length=255)
    email_key = models.CharField(max_length=MAX_EMAIL_KEY, editable=False)
    body = models.TextField(gettext_lazy("comment"))
    ip = models.CharField(gettext_lazy("IP address"), max_length=45, null=True, blank=True)
    user_agent = models.CharField(gettext_lazy("browser"), max_length=1000, null=True, blank=True)
    status = models.CharField(gettext_lazy("status"), max_length=10, choices=Status, default=Status.UNAPPROVED)
    former_status = models.CharField(max_length=10, choices=Status, blank=True, editable=False)
    published_at = models.DateTimeField(gettext_lazy("published at"), null=True, blank=True)
    hidden_at = models.DateTimeField(null=True, editable=False)
    version = VersionField()

    personal_fields = ("author", "email", "email_key", "body", "ip", "user_agent")

    class Meta:
        verbose_name = gettext_lazy("comment")
        verbose_name_plural = gettext_lazy("comments")
        indexes = (
            models.Index(fields=("shop", "status", "-id"), name="content_comment_by_status"),
            models.Index(fields=("shop", "email_key"), name="content_comment_by_email"),
            models.Index(fields=("hidden_at",), condition=Q(hidden_at__isnull=False), name="content_comment_hidden"),
        )

    def __str__(self) -> str:
        return f"{self.author}: {self.body[:60]}"

    @property
    def event_label(self) -> Message:
        """Return the label in the audit log, which contains no personal data."""
        return _LABEL(number=self.pk)
