"""The clock of the database, which all processes share."""

from datetime import datetime

from django.db import connection
from django.utils import timezone


def get_database_time() -> datetime:
    """Return the time of the current transaction by the clock of the database server.

    Compare the result with due times and leases, because the clocks of machines can differ. With SQLite, all processes
    run on one machine, so this is the machine's time.
    """
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        moment: datetime = cursor.execute("SELECT now()").fetchone()[0]
        return moment
