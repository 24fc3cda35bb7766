"""What the panel stores for staff: chosen list columns, saved views and submitted forms."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.tenancy.models.users import User
from apps.core.tenancy.shop_owned import ShopOwned


class ListColumns(ShopOwned):
    """The columns that a user chose for a list: names in display order, separated by dots."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    screen = models.CharField(max_length=100, help_text="The list's model, e.g. orders.order.")
    columns = models.CharField(max_length=1000)

    non_personal_fields = ("screen", "columns")

    class Meta:
        app_label = "staff"
        verbose_name = gettext_lazy("column settings")
        constraints = (models.UniqueConstraint(fields=("shop", "user", "screen"), name="staff_listcolumns_once"),)

    def __str__(self) -> str:
        return f"{self.screen}: {self.columns}"


class SavedView(ShopOwned):
    """A saved view of a list. ``query`` is normalized by ``saved_views.normalize_query``, so equal views are equal."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", verbose_name=gettext_lazy("user"))
    screen = models.CharField(max_length=100, help_text="The list's model, e.g. orders.order.")
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=2000)
    shared = models.BooleanField(default=False, help_text="Whether all staff who can view the list can use this view.")
    is_default = models.BooleanField(default=False, help_text="Whether the list opens with this view for this user.")

    personal_fields = ("name", "query")
    non_personal_fields = ("screen",)

    class Meta:
        app_label = "staff"
        ordering = ("name", "id")
        verbose_name = pgettext_lazy("list", "view")
        constraints = (
            models.UniqueConstraint(fields=("shop", "user", "screen", "name"), name="staff_savedview_name_once"),
            models.UniqueConstraint(
                fields=("shop", "user", "screen"),
                condition=models.Q(is_default=True),
                name="staff_savedview_one_default",
            ),
        )
        indexes = (models.Index(fields=("shop", "screen"), name="staff_savedview_by_screen"),)

    def __str__(self) -> str:
        return self.name


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

    non_personal_fields = ("key", "fingerprint", "result")

    class Meta:
        app_label = "staff"
        verbose_name = gettext_lazy("submitted form")
        verbose_name_plural = gettext_lazy("submitted forms")
        indexes = (models.Index(fields=("created_at",), name="staff_sentform_age"),)

    def __str__(self) -> str:
        return self.key
