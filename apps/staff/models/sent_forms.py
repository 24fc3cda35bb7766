"""Submitted forms, stored so that a repeated submission has no effect."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy


class SentForm(models.Model):
    """A submitted form and its result.

    ``key`` is a digest of the user and the page's form key. The row is inserted in the same transaction as the form's
    changes, so other transactions only see rows with ``done=True``. ``fingerprint`` is a digest of the submitted
    values. ``result`` is the URL of the result. ``shown`` is True if the response contained a token or secret, which is
    never shown a second time.
    """

    key = models.CharField(max_length=64, primary_key=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", verbose_name=gettext_lazy("user")
    )
    fingerprint = models.CharField(max_length=64)
    result = models.TextField(default="")
    shown = models.BooleanField(default=False)
    done = models.BooleanField(default=False)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name = gettext_lazy("submitted form")
        verbose_name_plural = gettext_lazy("submitted forms")
        indexes = (models.Index(fields=("created_at",), name="staff_sentform_age"),)

    def __str__(self) -> str:
        return self.key
