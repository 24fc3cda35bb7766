"""Files of the data folder are readable only by their owner (see also ``browser/test_start.py``)."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import storages

from backoffice.configuration.private_files import make_folder_private


def get_mode(path: Path) -> str:
    return oct(stat.S_IMODE(path.stat().st_mode))


def test_an_existing_data_folder_becomes_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    environment = {**os.environ, "BACKOFFICE_DATA_DIR": str(tmp_path)}

    subprocess.run(
        [sys.executable, "-c", "import backoffice.settings"], cwd=settings.BASE_DIR, env=environment, check=True
    )

    assert get_mode(tmp_path) == "0o700"


@pytest.mark.parametrize(("command", "umask"), [("shell", "0o77"), ("collectstatic", "0o22")])
def test_commands_write_private_files_except_static_files(tmp_path: Path, command: str, umask: str) -> None:
    script = f"""
import os, runpy, sys
os.umask(0o022)
sys.argv = ["manage.py", "{command}", "--help"]
try:
    runpy.run_path("manage.py", run_name="__main__")
except SystemExit:
    print("\\n", oct(os.umask(0)))
"""
    environment = {**os.environ, "BACKOFFICE_DATA_DIR": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", script],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )

    assert run.stdout.split()[-1] == umask


def test_folders_for_all_users_are_left_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)

    make_folder_private(tmp_path)

    assert get_mode(tmp_path) == "0o1777"


def test_stored_files_are_private(media_root: Path) -> None:
    for name in ("default", "contents"):
        storages[name].save(f"{name}/file", ContentFile(b"customers"))

    assert {get_mode(media_root / name / "file") for name in ("default", "contents")} == {"0o600"}
    assert {get_mode(media_root / name) for name in ("default", "contents")} == {"0o700"}
