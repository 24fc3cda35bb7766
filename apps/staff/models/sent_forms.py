"""Which forms people have sent, so that none works twice."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy


class SentForm(models.Model):
    """A page's form that was sent, and where that led.

    ``key`` is a digest of the person and the page's own key; the row is inserted by the transaction that does the work,
    so that others see it only once it is ``done``. ``fingerprint`` is a digest of what was sent. ``result`` is the
    address that the answer led to, and ``shown`` whether the answer showed something that is not shown again.
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
        verbose_name = gettext_lazy("sent form")
        verbose_name_plural = gettext_lazy("sent forms")
        indexes = (models.Index(fields=("created_at",), name="staff_sentform_age"),)

    def __str__(self) -> str:
        return self.key
