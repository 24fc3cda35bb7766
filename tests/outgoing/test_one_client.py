"""Test that only the guarded client opens outgoing connections."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOOR = ROOT / "apps" / "outgoing"
# Modules that listen on a socket, check the local server's heartbeat or notify the next SQLite writer.
LISTENING = {
    f"backoffice/{name}.py"
    for name in ("heartbeat", "run_all", "server/process", "server/supervisor", "sqlite/write_queue")
}
FORBIDDEN = (
    *["aiohttp", "ftplib", "http.client", "httpcore", "httplib2", "httpx", "pycurl", "requests", "socket"],
    *["telnetlib", "urllib.request", "urllib3", "websockets"],
)


def find_imports(source: str) -> Iterator[str]:
    """Yield every dotted name in an import statement or in a call to `import_module`."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield module
                yield from (f"{module}.{alias.name}" for alias in names)
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                yield module


def find_forbidden_imports(source: str) -> set[str]:
    """Return the forbidden modules that a source imports."""
    dotted = {f"{import_name}." for import_name in find_imports(source)}
    return {name for name in FORBIDDEN if any(import_name.startswith(f"{name}.") for import_name in dotted)}


def test_only_the_guarded_client_imports_http_libraries() -> None:
    files = [path for folder in ("apps", "backoffice") for path in (ROOT / folder).rglob("*.py")]

    imports_by_file = {path: find_forbidden_imports(path.read_text()) for path in files}

    outside = {
        str(path.relative_to(ROOT)): names for path, names in imports_by_file.items() if DOOR not in path.parents
    }
    assert {path: names for path, names in outside.items() if names and path not in LISTENING} == {}
    assert {name for path in LISTENING for name in outside[path]} == {"socket"}
    assert {"socket", "urllib3", "http.client"} <= set().union(
        *imports_by_file.values()
    )  # proves that the scan finds imports


@pytest.mark.parametrize(
    "source",
    [
        "import requests",
        "import urllib.request",
        "import os, socket as s",
        "from urllib import request",
        "from urllib.request import urlopen",
        "from http import client",
        "from http.client import HTTPSConnection",
        "def late():\n    import httpx",
        "from aiohttp.client import ClientSession",
        "from urllib3.util import Retry",
        "import importlib\nimportlib.import_module('requests')",
        "__import__('socket')",
    ],
)
def test_scan_finds_every_way_to_import_a_client(source: str) -> None:
    assert find_forbidden_imports(source)


@pytest.mark.parametrize(
    "source",
    [
        "from urllib.parse import urlsplit",
        "import urllib.parse",
        "from http import HTTPStatus",
        "from .requests import Request",
        "import socketserver_like",
        "from apps.outgoing.sync_client import send_request",
    ],
)
def test_scan_leaves_harmless_imports_alone(source: str) -> None:
    assert not find_forbidden_imports(source)
