"""The models for idempotency keys with their stored responses, and for calls of deprecated routes."""

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


class DeprecatedCall(ShopOwned):
    """The latest call of a deprecated route by an app, per route and version. ``anchor`` is a key of ``REASONS``."""

    installation = models.ForeignKey(Installation, on_delete=models.CASCADE, related_name="+")
    endpoint = models.CharField(max_length=255, help_text="The method and the path after the version.")
    version = models.CharField(max_length=8)
    anchor = models.CharField(max_length=64)
    last_call_at = models.DateTimeField()

    non_personal_fields = ("endpoint", "version", "anchor")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("installation", "endpoint", "version"), name="api_deprecatedcall_once_per_route_and_version"
            ),
        )

    def __str__(self) -> str:
        return self.endpoint
