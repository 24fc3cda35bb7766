"""The model for idempotency keys and their stored responses."""

from django.db import models

from apps.core.tenancy.models import Installation
from apps.core.tenancy.shop_owned import ShopOwned


class IdempotencyKey(ShopOwned):
    """A request that must run only once, with the response to replay when the client repeats the request.

    The row is inserted in the same transaction as the changes of the request, so a rollback also removes the row.
    """

    installation = models.ForeignKey(Installation, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    location = models.CharField(max_length=2048, blank=True)
    body = models.BinaryField(default=b"")
    path = models.CharField(max_length=2048, blank=True)
    request_id = models.CharField(max_length=36, blank=True, help_text="The request ID of the recorded events.")

    personal_fields = ("body",)
    non_personal_fields = ("key", "fingerprint", "location", "path", "request_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("installation", "key"), name="api_idempotencykey_once_per_installation"),
        )
        indexes = (models.Index(fields=("created_at",), name="api_idempotencykey_age"),)

    def __str__(self) -> str:
        return self.key
