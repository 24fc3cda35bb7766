from django.db import models
from django.utils.translation import gettext_lazy

from apps.core.i18n.error_messages import TAKEN
from apps.core.tenancy.models.users import User
from apps.core.tenancy.shop_owned import ShopOwned


class Membership(ShopOwned):
    """A user's membership in a shop. A permission name is never in both ``permissions`` and ``view_only``."""

    user = models.ForeignKey(
        User, on_delete=models.CASCADE, related_name="memberships", verbose_name=gettext_lazy("user")
    )
    account_owner = models.BooleanField(gettext_lazy("account owner"), default=False)
    permissions = models.JSONField(gettext_lazy("permissions"), default=list, blank=True)
    view_only = models.JSONField(gettext_lazy("view only"), default=list, db_default=[], blank=True)

    non_personal_fields = ("permissions", "view_only")

    class Meta:
        app_label = "staff"
        constraints = (
            models.UniqueConstraint(
                fields=("shop", "user"),
                name="staff_membership_once_per_shop",
                violation_error_message=TAKEN,
            ),
        )
        verbose_name = gettext_lazy("staff member")
        verbose_name_plural = gettext_lazy("staff members")

    def __str__(self) -> str:
        return f"{self.user} at {self.shop}"
