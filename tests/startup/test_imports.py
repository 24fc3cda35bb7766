"""Tests of what processes load at their start: libraries that few requests need must not slow down every start."""

import json
import os
import subprocess
import sys

from django.conf import settings

# Libraries that only some requests or only workers need.
RARE = {
    "aiohttp": "webhook deliveries",
    "celery": "workers",
    "graphql": "GraphQL requests",
    "jsonschema": "payment handlers",
    "openpyxl": "files",
    "pycountry": "names of countries and provinces that only ISO has",
    "strawberry": "GraphQL requests",
    "uvloop": "webhook deliveries",
}
REQUEST = """
from django.test import Client
assert Client().get("/admin/api/2026-01/customers.json").status_code == 401
"""
LOOKUP = """
from apps.shops.domain.countries import complete_region
assert complete_region(country="Turkey").country.code == "TR"
assert complete_region(country_code="MX", province_code="NLE").province_code == "NL"
assert complete_region(country="Japan", province="Tokyo").province_code == "JP-13"
"""
SCHEDULE = """
from backoffice.celery import app
app.loader.import_default_modules()
assert "webhooks.deliver" in app.tasks
"""
# At its end, the interpreter searches all objects for garbage, except frozen ones.
END = """
import gc
gc.callbacks.append(lambda phase, info: print(len(gc.get_objects())))
"""


def run_python(code: str) -> str:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "backoffice.settings"}
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"import django; django.setup()\n{code}"],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        check=True,
        text=True,
    )
    return process.stdout


def get_loaded(code: str) -> set[str]:
    """Return the names of the top-level modules that a new process has loaded after this code."""
    names = json.loads(run_python(f"{code}\nimport json, sys; print(json.dumps(sorted(sys.modules)))"))
    return {name.partition(".")[0] for name in names}


def test_first_api_request_loads_no_library_for_other_work() -> None:
    assert RARE.keys() & get_loaded(REQUEST) == set()


def test_lookup_of_known_regions_does_not_load_the_iso_lists() -> None:
    assert "pycountry" not in get_loaded(LOOKUP)


def test_scheduler_loads_no_http_client_of_deliveries() -> None:
    assert {"celery", "aiohttp", "uvloop"} & get_loaded(SCHEDULE) == {"celery"}


def test_start_and_end_of_a_process_spend_no_time_on_garbage_collection() -> None:
    collections = run_python("import gc; print(sum(generation['collections'] for generation in gc.get_stats()))")

    # With Python's default thresholds, there are about 480.
    assert int(collections) < 200
    assert max(map(int, run_python(END).split()), default=0) < 10_000


def test_screenshots_start_without_django() -> None:
    """The command starts the product in another process, so it sets up nothing in its own."""
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        "import tests.support.screenshots.__main__, sys; print(*sys.modules)",
    ]
    output = subprocess.check_output(command, cwd=settings.BASE_DIR, text=True)

    assert "tests.support.screenshots.scenes" in output.split()
