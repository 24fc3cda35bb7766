"""Tests for the sample alarms: each expression uses existing metrics as their type allows, and rings when it should."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from django.conf import settings
from django.test import Client
from pytest_django import Settings

from tests.support.services import require_service

ALARMS = Path(settings.BASE_DIR, "docs", "samples", "alarms.yml")
# A metric of the product with its labels, its time range, and the function that receives the range.
SELECTOR = re.compile(r"(?:(\w+)\()?\b(backoffice_\w+)(\{[^}]*\})?(\[\w+\])?")
# These functions treat each decrease of a value as the restart of a process.
COUNTER_FUNCTIONS = {"rate", "irate", "increase", "resets"}
# The replica's metric is only exported if the installation has a replica.
REPLICA_TYPES = {"backoffice_replica_up": "gauge"}
TYPES = {"backoffice_done_total": "counter", "backoffice_seconds": "histogram", "backoffice_off": "gauge"}


def get_rules() -> dict[str, str]:
    groups = yaml.safe_load(ALARMS.read_text())["groups"]
    return {rule["alert"]: rule["expr"] for group in groups for rule in group["rules"]}


def find_faults(expression: str, types: dict[str, str]) -> Iterator[str]:
    """Yield a message for each metric that does not exist or has a type that does not fit the expression."""
    for function, name, _, time_range in SELECTOR.findall(expression):
        family = re.sub("_(bucket|sum|count)$", "", name)
        kind = "counter" if types.get(family) == "histogram" and family != name else types.get(name)
        if kind is None:
            yield f"{name} does not exist"
        elif kind == "counter" and not (time_range and function in COUNTER_FUNCTIONS):
            yield f"{name} is a counter, so only its increase has a meaning"
        elif kind != "counter" and time_range and function in COUNTER_FUNCTIONS:
            yield f"{function}() of the {kind} {name} is wrong after each decrease"
        if kind == "counter" and not re.search("_(total|bucket|sum|count)$", name):
            yield f"{name} is a counter without the ending _total"


@pytest.mark.parametrize(
    "expression",
    [
        "increase(backoffice_off[1h]) > 0",
        "backoffice_done_total > 0",
        "delta(backoffice_done_total[5m]) > 0",
        "max(backoffice_unknown) > 0",
        "rate(backoffice_seconds[5m]) > 0",
    ],
)
def test_faults_of_expressions_are_found(expression: str) -> None:
    assert len(list(find_faults(expression, TYPES))) == 1


@pytest.mark.django_db
def test_alarms_use_metrics_as_their_type_allows(client: Client, settings: Settings) -> None:
    settings.METRICS_TOKEN = "a-token"
    metrics = client.get("/metrics", headers={"Authorization": "Bearer a-token"}).content.decode()
    types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", metrics, re.MULTILINE)) | REPLICA_TYPES
    series = re.findall(r"^(backoffice_\w+)(\{.*\})? ", metrics, re.MULTILINE)

    assert {alarm: found for alarm, rule in get_rules().items() if (found := list(find_faults(rule, types)))} == {}
    for alarm, expression in get_rules().items():
        for _, name, labels, time_range in SELECTOR.findall(expression):
            # The series of a gauge exist from the start. A misspelled label would never match.
            if labels and not time_range:
                assert (name, labels) in series, alarm


def test_alarms_have_an_entry_in_the_documentation() -> None:
    page = Path(settings.BASE_DIR, "docs", "operations.md").read_text()

    assert re.findall(r"^\| (\w+) \|", page[page.index("## Alarms") :], re.MULTILINE)[1:] == list(get_rules())


def test_alarms_ring_when_they_should_and_not_otherwise(tmp_path: Path) -> None:
    promtool = require_service("promtool (apt install prometheus)", shutil.which("promtool"))
    cases = tmp_path / "alarms.test.yml"
    shutil.copy(ALARMS, tmp_path)
    shutil.copy(Path(__file__).with_name(cases.name), cases)

    result = subprocess.run([promtool, "test", "rules", str(cases)], capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout + result.stderr
    assert {alarm for alarm in get_rules() if f"alertname: {alarm}" not in cases.read_text()} == set()
