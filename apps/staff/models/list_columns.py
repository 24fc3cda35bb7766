"""Which columns people want the panel's lists to show."""

from django.db import models
from django.utils.translation import gettext_lazy

from apps.ground.rows import ShopOwned
from apps.staff.models.users import User


class ListColumns(ShopOwned):
    """The columns of a list that a person chose in a shop, in their order; who chose none has no row.

    ``columns`` are their names, joined by dots, as the address of a list says them too.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    screen = models.CharField(max_length=100, help_text="The list's model, e.g. orders.order.")
    columns = models.CharField(max_length=1000)

    class Meta:
        verbose_name = gettext_lazy("choice of columns")
        constraints = (models.UniqueConstraint(fields=("shop", "user", "screen"), name="staff_listcolumns_once"),)

    def __str__(self) -> str:
        return f"{self.screen}: {self.columns}"
