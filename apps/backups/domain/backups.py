"""Making a backup, and putting it into an empty place."""

import os
import shutil
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from apps.backups.domain import databases, files, manifests
from apps.backups.domain.manifests import BackupRefused, Manifest

_KEY = "secret_key"


def make(folder: Path) -> Manifest:
    """Make a backup of the database, the files and the key; readable for nobody else.

    Raises:
        BackupRefused: Something is there already, or a part cannot be copied; then nothing is left behind.
    """
    if folder.exists():
        raise BackupRefused(f"{folder} is there already.")
    unfinished = folder.with_name(f"{folder.name}.part")
    old = os.umask(0o077)
    try:
        unfinished.mkdir(parents=True)
    except FileExistsError:
        raise BackupRefused(f"{unfinished} is there: another backup is under way, or one broke off.") from None
    else:
        try:
            manifest = _made(unfinished)
            unfinished.rename(folder)
        except BaseException:
            shutil.rmtree(unfinished)
            raise
        return manifest
    finally:
        os.umask(old)


def _made(folder: Path) -> Manifest:
    made_at = timezone.now().isoformat(timespec="seconds")
    # The last one of each app.
    migrations = dict(sorted(MigrationRecorder(connection).applied_migrations()))
    tables = databases.copy_into(folder)
    number = files.pack(folder / "files.tar")
    key = settings.DATA_DIR / _KEY
    if key.exists() and key.read_text() == settings.SECRET_KEY:
        shutil.copy(key, folder / _KEY)
    parts = manifests.parts_of(folder)
    manifest = Manifest(made_at, connection.vendor, migrations, tables, number, parts)
    manifests.write(folder, manifest)
    return manifest


def restore(folder: Path) -> Manifest:
    """Fill this empty installation from a backup.

    Raises:
        BackupRefused: The backup is damaged or of another kind of database, this place is not empty, or what came out
            is not what went in.
    """
    manifest = manifests.read(folder)
    if manifest.vendor != connection.vendor:
        raise BackupRefused(f"The backup is of {manifest.vendor}; this installation's database is {connection.vendor}.")
    databases.put_back(folder)
    if (number := files.unpack(folder / "files.tar")) != manifest.files:
        raise BackupRefused(f"{number} files came out, {manifest.files} went in.")
    if (folder / _KEY).exists():
        # The one that was made when this place was first looked at has signed nothing.
        shutil.copy(folder / _KEY, settings.DATA_DIR / _KEY)
    counted = databases.count()
    if differing := sorted(name for name in manifest.tables if counted.get(name) != manifest.tables[name]):
        raise BackupRefused(f"Other numbers of rows came out than went in, in {', '.join(differing)}.")
    return manifest
