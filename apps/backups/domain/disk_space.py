"""Report a full disk during a backup or an export in one sentence."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError

from apps.backups.domain.manifests import BackupRefused
from apps.core.db.transient_errors import is_disk_full


@contextmanager
def report_full_disk() -> Iterator[None]:
    """Raise ``BackupRefused`` instead of the error of a full disk."""
    try:
        yield
    except (OSError, sqlite3.Error, DatabaseError) as error:
        if not is_disk_full(error) and "disk is full" not in str(error):
            raise
        name = getattr(error, "filename", None)
        at = f" at {name}" if name else ""
        raise BackupRefused(f"The disk is full{at}. Free some space, and run the command again.") from error
