"""The model that limits how many workers deliver webhooks at the same time."""

from django.db import models


class DeliveryRun(models.Model):
    """A lease that allows one worker process to deliver webhooks. There is one row per concurrent run.

    Attributes:
        token: The token of the current run, or None.
        lease_until: The end of the lease. The run renews the lease, so it expires soon after a worker was killed.
        is_wanted: True if a message asked for another run while no row was free. The run that holds the lease checks
            the flag when it ends.
    """

    slot = models.PositiveSmallIntegerField(primary_key=True)
    token = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    is_wanted = models.BooleanField(default=False, db_default=False)

    def __str__(self) -> str:
        return f"run {self.slot}"
