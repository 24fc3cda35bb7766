"""Tests of ``make`` and ``manage.py`` on a machine where Backoffice is not installed yet."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

MAKEFILE = Path(settings.BASE_DIR, "Makefile")
# Debian's Python without the package python3-venv: the module venv exists, but creates only half of an environment.
STUB = """#!/bin/sh
case "$*" in
  *ensurepip*) echo "No module named ensurepip" >&2; exit 1 ;;
  "-m venv .venv")
    mkdir -p .venv/bin
    ln -s {python} .venv/bin/python
    printf 'home = {home}\\ninclude-system-site-packages = false\\n' >.venv/pyvenv.cfg
    exit 1 ;;
esac
exec {python} "$@"
"""


PYTHON = Path(sys.base_prefix, "bin", "python3")


def run_make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make in a folder with nothing but the Makefile. The tests may run in make themselves."""
    shutil.copy(MAKEFILE, folder)
    command = ["make", *arguments]
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_make_lists_the_targets(tmp_path: Path) -> None:
    shown = run_make(tmp_path)

    targets = re.findall(r"^  make ([a-z-]+) +\S", shown.stdout, re.MULTILINE)
    assert {"run", "test", "test-quick", "check", "help"} <= set(targets)
    assert run_make(tmp_path, "help").stdout == shown.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["Makefile"]


@pytest.mark.parametrize("left_behind", ["nothing", "half an environment"])
def test_a_missing_python3_venv_is_named_and_leaves_nothing_behind(tmp_path: Path, left_behind: str) -> None:
    stub = tmp_path / "python"
    stub.write_text(STUB.format(python=PYTHON, home=PYTHON.parent))
    stub.chmod(0o755)
    folder = tmp_path / "clone"
    folder.mkdir()
    if left_behind != "nothing":
        subprocess.run([stub, "-m", "venv", ".venv"], cwd=folder, check=False)
        assert (folder / ".venv/bin/python").exists()

    ended = run_make(folder, f"PYTHON={stub}", ".venv/bin/uv")

    assert ended.returncode == 2
    assert "apt install python3-venv" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert [path.name for path in folder.iterdir()] == ["Makefile"]


def test_manage_py_without_django_says_what_to_run(tmp_path: Path) -> None:
    manage = Path(settings.BASE_DIR, "manage.py")

    # The option -S hides the installed packages.
    ended = subprocess.run(
        [sys.executable, "-I", "-S", str(manage), "migrate"], capture_output=True, text=True, timeout=60, check=False
    )

    assert os.access(manage, os.X_OK)
    assert ended.returncode == 1
    assert ended.stderr == (
        f"{sys.executable} has no Django. Run: make .venv/runs && .venv/bin/python {manage} migrate\n"
    )
