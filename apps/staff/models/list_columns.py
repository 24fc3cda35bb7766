"""The columns that users choose for lists in the panel."""

from django.db import models
from django.utils.translation import gettext_lazy

from apps.ground.base_models import ShopOwned
from apps.staff.models.users import User


class ListColumns(ShopOwned):
    """The columns that a user chose for a list in a shop.

    ``columns`` contains the column names in display order, separated by dots, as in the list's URL.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    screen = models.CharField(max_length=100, help_text="The list's model, e.g. orders.order.")
    columns = models.CharField(max_length=1000)

    class Meta:
        verbose_name = gettext_lazy("column settings")
        constraints = (models.UniqueConstraint(fields=("shop", "user", "screen"), name="staff_listcolumns_once"),)

    def __str__(self) -> str:
        return f"{self.screen}: {self.columns}"
