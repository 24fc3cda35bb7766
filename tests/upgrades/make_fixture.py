"""Create the fixture for upgrade tests from a past release: ``python -m tests.upgrades.make_fixture REF``.

The command needs the git history and a PostgreSQL server. ``--postgres`` is the URL of a role that can create
databases. The command writes these files to ``tests/upgrades/1.0.0``:

- ``sqlite.tar.xz``: the data folder with a SQLite database
- ``postgres.sql.xz`` and ``postgres-files.tar.xz``: the dump of a PostgreSQL database, and the data folder
- ``facts.json``: the release, the access tokens and the API's responses
"""

import argparse
import json
import lzma
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from tests.upgrades.paths import RELEASE, ROOT, run_inside, scratch_database


def extract_release(ref: str, folder: Path) -> Path:
    packed = subprocess.run(["git", "archive", ref], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)
    return folder


def dump_database(url: str) -> str:
    """Return the database as SQL for every version of psql, without commands that only new versions support."""
    command = ["pg_dump", "--no-owner", "--no-privileges", "--inserts", "--column-inserts", url]
    dump = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    newer = ("\\restrict", "\\unrestrict", "SET transaction_timeout")
    return "".join(line for line in dump.splitlines(keepends=True) if not line.startswith(newer))


def pack_folder(name: str, data: Path) -> None:
    with tarfile.open(RELEASE / name, "w:xz") as packed:
        packed.add(data, arcname=".")


def make_sqlite(code: Path, data: Path) -> Any:
    facts = run_inside(code, data, f"sqlite:///{data / 'database.sqlite3'}", "fill")
    pack_folder("sqlite.tar.xz", data)
    return facts


def make_postgres(code: Path, data: Path, server: str) -> Any:
    with scratch_database(server) as url:
        facts = run_inside(code, data, url, "fill")
        (RELEASE / "postgres.sql.xz").write_bytes(lzma.compress(dump_database(url).encode()))
    pack_folder("postgres-files.tar.xz", data)
    return facts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ref", help="the release: a tag or a commit")
    parser.add_argument("--postgres", default="postgres://postgres@127.0.0.1:5432/postgres")
    options = parser.parse_args()
    git_command = ["git", "rev-parse", "--verify", f"{options.ref}^{{commit}}"]
    commit = subprocess.run(git_command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    RELEASE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary_folder:
        folders = [Path(temporary_folder) / name for name in ("code", "sqlite", "postgres")]
        for folder in folders:
            folder.mkdir()
        code = extract_release(commit, folders[0])
        facts = {
            "release": commit,
            "sqlite": make_sqlite(code, folders[1]),
            "postgresql": make_postgres(code, folders[2], options.postgres),
        }
    (RELEASE / "facts.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
