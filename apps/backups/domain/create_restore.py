import os
import shutil
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.utils import timezone

from apps.backups.domain import databases, file_archive, manifests
from apps.backups.domain.manifests import BackupRefused, Manifest

_KEY = "secret_key"


def create_backup(folder: Path) -> Manifest:
    """Back up the database, the files and the secret key. Only the current user can read the backup.

    Raises:
        BackupRefused: The directory already exists, or the database or a file cannot be copied. An incomplete backup is
            deleted.
    """
    if folder.exists():
        raise BackupRefused(f"{folder} already exists.")
    unfinished = folder.with_name(f"{folder.name}.part")
    old = os.umask(0o077)
    try:
        unfinished.mkdir(parents=True)
    except FileExistsError:
        raise BackupRefused(
            f"{unfinished} exists: another backup is running or was interrupted."
            " If no backup is running, delete this directory."
        ) from None
    else:
        try:
            manifest = _write_backup(unfinished)
            unfinished.rename(folder)
        except BaseException:
            shutil.rmtree(unfinished)
            raise
        return manifest
    finally:
        os.umask(old)


def _write_backup(folder: Path) -> Manifest:
    made_at = timezone.now().isoformat(timespec="seconds")
    migrations = manifests.get_current_migrations()
    tables = databases.copy_database(folder)
    number = file_archive.pack_files(folder / "files.tar")
    key = settings.DATA_DIR / _KEY
    if key.exists() and key.read_text() == settings.SECRET_KEY:
        shutil.copy(key, folder / _KEY)
    parts = {path.name: manifests.digest_file(path) for path in sorted(folder.iterdir())}
    manifest = Manifest(made_at, connection.vendor, migrations, tables, number, parts)
    manifests.write_manifest(folder, manifest)
    return manifest


def restore_backup(folder: Path) -> Manifest:
    """Restore a backup into this empty installation.

    Raises:
        BackupRefused: The backup is damaged or comes from another database system, this installation is not empty, or
            the restored data differs from the backup.
    """
    manifest = manifests.read_manifest(folder)
    if manifest.vendor != connection.vendor:
        raise BackupRefused(f"The backup is from {manifest.vendor}, but this installation uses {connection.vendor}.")
    databases.restore_database(folder)
    if (number := file_archive.unpack_files(folder / "files.tar")) != manifest.files:
        raise BackupRefused(f"{number} files were restored, but the backup has {manifest.files}.")
    if (folder / _KEY).exists():
        # Replacing the key that this installation generated is safe, because the key has not signed anything yet.
        shutil.copy(folder / _KEY, settings.DATA_DIR / _KEY)
        # The commands that follow in this process decrypt restored secrets.
        settings.SECRET_KEY = (folder / _KEY).read_text()
    row_counts = databases.count_rows()
    if differing := sorted(name for name in manifest.tables if row_counts.get(name) != manifest.tables[name]):
        raise BackupRefused(f"The number of restored rows differs from the backup in {', '.join(differing)}.")
    return manifest
