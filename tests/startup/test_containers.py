"""Tests of ``Dockerfile`` and ``compose.yaml`` without a container engine: names and references are right.

The soak test runs the commands of the ``Dockerfile`` in a new Debian root (needs root and debootstrap).
"""

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.core.management import get_commands

from backoffice.configuration import env

ROOT = Path(settings.BASE_DIR)
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "backoffice"}
# Variables of Docker Compose and of other images.
FOREIGN = {"POSTGRES_PASSWORD", "POSTGRES_USER", "UPSTREAM"}


def get_instructions(stage: int) -> list[tuple[str, str]]:
    """Return the instructions of a stage and their arguments."""
    lines = [line for line in DOCKERFILE.splitlines() if line and not line.startswith("#")]
    starts = [*(index for index, line in enumerate(lines) if line.startswith("FROM ")), len(lines)]
    parts = [line.partition(" ") for line in lines[starts[stage] : starts[stage + 1]]]
    return [(word, arguments) for word, _, arguments in parts]


def get_commands_of(service: dict[str, Any]) -> Iterator[list[str]]:
    if "command" in service:
        yield shlex.split(service["command"])
    check = service.get("healthcheck", {}).get("test")
    if check:
        yield check[1:]


def is_in_image(path: str) -> bool:
    """Return True if the last line of ``.dockerignore`` that matches the path or one of its folders includes it."""
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    names = [Path(path), *Path(path).parents][:-1]
    included = True
    for line in lines:
        pattern = line.removeprefix("!")
        if any(name.match(pattern.removeprefix("**/")) for name in names if "**" in pattern or len(name.parts) == 1):
            included = line.startswith("!")
    return included


def is_known(command: list[str]) -> bool:
    match command:
        case ["python", "-m", module, *_]:
            return find_spec(module) is not None
        case ["python", "manage.py", name, *_]:
            return name in get_commands()
    return False


def test_services_share_an_image_that_is_built_once() -> None:
    assert set(OURS) == {"migrate", "web", "worker", "webhooks", "scheduler"}
    assert [name for name, service in SERVICES.items() if "build" in service] == ["migrate"]
    assert {service["pull_policy"] for service in OURS.values()} == {"never"}


def test_each_command_of_our_services_exists() -> None:
    commands = [command for service in OURS.values() for command in get_commands_of(service)]
    image = [yaml.safe_load(found) for found in re.findall(r"CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)]

    assert len(commands) >= 7
    assert len(image) == 2
    assert [command for command in [*commands, *image] if not is_known(command)] == []


def test_workers_serve_every_queue() -> None:
    queues = {queue for service in OURS.values() for queue in re.findall(r"-Q (\S+)", service.get("command", ""))}

    assert sorted(",".join(queues).split(",")) == ["bulk", "default", "webhooks"]


def test_each_variable_is_a_setting() -> None:
    text = (ROOT / "compose.yaml").read_text()
    named = set(re.findall(r"\$\{(\w+)", text))
    named |= {name for service in SERVICES.values() for name in service.get("environment", {})}
    named |= {name for word, line in get_instructions(1) if word == "ENV" for name in re.findall(r"(\w+)=", line)}

    assert named - env.read_names - FOREIGN == {"PATH", "PYTHONUNBUFFERED"}


def test_references_in_compose_exist() -> None:
    mounts = [mount.split(":")[0] for service in SERVICES.values() for mount in service.get("volumes", ())]
    required = [
        (name, needed, condition["condition"])
        for name, service in SERVICES.items()
        for needed, condition in service.get("depends_on", {}).items()
    ]

    assert {mount for mount in mounts if not mount.startswith("./")} == set(COMPOSE["volumes"])
    assert [mount for mount in mounts if mount.startswith("./") and not (ROOT / mount).exists()] == []
    assert {needed for _, needed, _ in required} <= set(SERVICES)
    # The image defines the health check of the service web.
    unchecked = {needed for _, needed, condition in required if condition == "service_healthy"} - {"web"}
    assert [needed for needed in unchecked if "healthcheck" not in SERVICES[needed]] == []
    # Each service is checked, except the one that ends.
    assert [name for name, service in OURS.items() if "healthcheck" not in service] == ["web"]


def test_the_image_has_what_its_commands_need() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    sources = [
        source
        for stage in (0, 1)
        for word, line in get_instructions(stage)
        if word == "COPY" and not line.startswith("--from")
        for source in line.split()[:-1]
    ]
    (client,) = re.findall(r"postgresql-client-(\d+)", DOCKERFILE)

    assert [source for source in sources if source != "." and not is_in_image(source)] == []
    assert [source for source in sources if not (ROOT / source).exists()] == []
    assert set(re.findall(r"--extra (\w+)", DOCKERFILE)) <= set(project["optional-dependencies"])
    # pg_dump refuses to dump the database of a newer server.
    assert SERVICES["db"]["image"] == f"postgres:{client}"
    needed = {
        "apps/core/apps.py",
        "backoffice/wsgi.py",
        "docs/staff.md",
        "locale/de/LC_MESSAGES/django.mo",
        "manage.py",
    }
    needed |= {"static/panel/panel.js", "static_root/favicon.ico", "templates/429.html"}
    assert {path for path in needed if not (ROOT / path).exists() or not is_in_image(path)} == set()


def test_files_with_secrets_are_neither_in_the_image_nor_in_git() -> None:
    secrets = [".env", ".env.production", "compose.override.yaml", "var/backoffice.sqlite3", "collected/panel.js"]
    others = ["production.env", "compose.production.yaml", "dump.sql", "2026-11-22/backoffice.dump", "server.key"]
    ignored = (ROOT / ".gitignore").read_text().splitlines()

    assert [
        path for path in [*secrets, *others, "apps/.env", ".git/config", "tests/conftest.py"] if is_in_image(path)
    ] == []
    assert {".env", ".env.*", "compose.override.yaml", "var", "/collected/"} <= {*ignored}


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_the_commands_of_the_image_run_in_a_new_root(tmp_path: Path) -> None:
    if os.geteuid() or not shutil.which("debootstrap"):
        pytest.skip("needs root and debootstrap")
    root = tmp_path / "root"
    packages = "ca-certificates,python3,python3-pip,python3-venv,python-is-python3"
    subprocess.run(["debootstrap", "--variant=minbase", f"--include={packages}", "trixie", root], check=True)
    # Use the network and the package index as this machine does.
    for path in ("etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt", "etc/pip.conf"):
        if Path("/", path).exists():
            shutil.copy(Path("/", path), root / path)
    (root / "app").mkdir()
    run_dockerfile(root)


def run_dockerfile(root: Path) -> None:
    """Run the instructions of both stages in one root, and then commands of the product as the image's user."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [name for name in tracked.stdout.split("\0") if name and is_in_image(name)]
    environment = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_"))}
    environment |= {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "PIP_BREAK_SYSTEM_PACKAGES": "1"}

    def run(command: str, *, user: str = "0:0") -> None:
        arguments = ["chroot", f"--userspec={user}", str(root), "/bin/sh", "-ec", f"cd /app; {command}"]
        subprocess.run(arguments, env=environment, check=True)

    for stage in (0, 1):
        for word, line in get_instructions(stage):
            if word == "RUN":
                run(line)
            elif word == "COPY" and not line.startswith("--from"):
                *sources, _ = line.split()
                for name in files if sources == ["."] else sources:
                    (root / "app" / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(ROOT / name, root / "app" / name)
            elif word == "ENV":
                settings_of_image = dict(re.findall(r"(\w+)=(\S+)", line))
                settings_of_image["PATH"] = settings_of_image["PATH"].replace("$PATH", environment["PATH"])
                environment |= settings_of_image

    run("pg_dump --version | grep ' 17'", user="10001:10001")
    run("python manage.py migrate --verbosity 0 && python manage.py backup /backups/first", user="10001:10001")
    run("python -c 'from backoffice.wsgi import application'", user="10001:10001")
