"""Backups and shop archives on a full disk: one sentence, nothing half-written, and the next attempt succeeds."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings

Manage = Callable[..., "subprocess.CompletedProcess[str]"]
DISK_BYTES = 16 * 1024 * 1024


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a small file system in memory."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill_disk(disk: Path, free: int) -> Path:
    """Leave this number of bytes free, and return the file to delete."""
    filler = disk / "filler"
    filler.write_bytes(bytes(DISK_BYTES - free))
    return filler


@pytest.fixture(scope="module")
def manage(tmp_path_factory: pytest.TempPathFactory) -> Manage:
    """Return a function that runs commands in an installation on SQLite with one shop."""
    data = tmp_path_factory.mktemp("installation")
    unset = ("DATABASE_URL", "CACHE_URL", "BROKER_URL", "STORAGE_URL")
    env = {name: value for name, value in os.environ.items() if name not in unset}
    env["BACKOFFICE_DATA_DIR"] = str(data)

    def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "manage.py", *map(str, arguments)]
        return subprocess.run(command, cwd=settings.BASE_DIR, env=env, capture_output=True, text=True, check=False)

    for arguments in (("migrate", "-v0"), ("create_shop", "acme.example")):
        assert run(*arguments).returncode == 0
    return run


def assert_disk_is_named(result: "subprocess.CompletedProcess[str]") -> None:
    assert result.returncode == 1
    assert result.stderr.startswith("CommandError: The disk is full"), result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("free", [8192, 300_000], ids=["no space", "space for a part"])
def test_a_backup_on_a_full_disk_leaves_nothing(manage: Manage, small_disk: Path, free: int) -> None:
    filler, folder = fill_disk(small_disk, free), small_disk / "backup"

    refused = manage("backup", folder)

    assert_disk_is_named(refused)
    assert list(small_disk.iterdir()) == [filler]
    filler.unlink()
    assert manage("backup", folder).returncode == 0
    assert manage("backup", folder, "--check").returncode == 0


@pytest.mark.slow
def test_a_shop_archive_on_a_full_disk_is_completed_later(manage: Manage, small_disk: Path) -> None:
    filler, archive = fill_disk(small_disk, 8192), small_disk / "archive"

    refused = manage("export_shop", "acme.example", archive)
    unfinished = manage("import_shop", archive, "--verify")
    filler.unlink()
    exported = manage("export_shop", "acme.example", archive)

    assert_disk_is_named(refused)
    assert unfinished.returncode == 1
    assert "Traceback" not in unfinished.stderr
    assert exported.returncode == 0, exported.stderr
    assert manage("import_shop", archive, "--verify").returncode == 0
