"""What the REST kit keeps: the first success under each idempotency key."""

from django.db import models

from apps.ground.rows import ShopOwned
from apps.shops.models import Installation


class IdempotencyKey(ShopOwned):
    """A request that must not be done twice, and the answer to give when it comes again.

    The row is inserted in the transaction of the work itself, so a failure takes it away with the work.
    """

    installation = models.ForeignKey(Installation, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    location = models.CharField(max_length=2048, blank=True)
    body = models.BinaryField(default=b"")
    path = models.CharField(max_length=2048, blank=True)
    request_id = models.CharField(max_length=36, blank=True, help_text="That of the events which the work recorded.")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("installation", "key"), name="api_idempotencykey_once_per_installation"),
        )
        indexes = (models.Index(fields=("created_at",), name="api_idempotencykey_age"),)

    def __str__(self) -> str:
        return self.key
