"""Saved views of lists."""

from django.db import models
from django.utils.translation import gettext_lazy

from apps.ground.base_models import ShopOwned
from apps.staff.models.users import User


class SavedView(ShopOwned):
    """A saved view of a list, with a name, search, filters, sort order and columns.

    ``query`` is the query string of the list's URL without transient parameters such as the page number. The parameters
    are sorted, so that equal views have equal query strings.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", verbose_name=gettext_lazy("user"))
    screen = models.CharField(max_length=100, help_text="The list's model, e.g. orders.order.")
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=2000)
    shared = models.BooleanField(default=False, help_text="Whether all staff who can view the list can use this view.")
    is_default = models.BooleanField(default=False, help_text="Whether the list opens with this view for this user.")

    class Meta:
        ordering = ("name", "id")
        verbose_name = gettext_lazy("view")
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
