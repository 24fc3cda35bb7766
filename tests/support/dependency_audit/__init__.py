"""Look for known vulnerabilities in the packages of ``uv.lock``, with pip-audit: ``make audit``.

The exit status is 1 if a package has a vulnerability that ``allowed.toml`` does not list. If the vulnerability service
of PyPI cannot be reached, or does not know a version, the output says so, and the exit status is 0. Any other failure
of pip-audit is an error.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

ALLOWED = Path(__file__).with_name("allowed.toml")
LOCK = Path(__file__).parents[3] / "uv.lock"
TIMEOUT = 600
# One request takes at most this many seconds.
_REQUEST_TIMEOUT = 15
# pip-audit reports most network errors as a traceback.
_UNAVAILABLE = re.compile(r"requests\.exceptions\.|ServiceError|Could not connect|not redirecting properly")


class ServiceUnavailable(Exception):
    pass


class AuditFailed(Exception):
    pass


@dataclass(frozen=True)
class Allowance:
    """A vulnerability that is accepted until a date, because the product is not affected or there is no fix yet."""

    id: str
    package: str
    reason: str
    until: date

    def covers(self, package: str, ids: Sequence[str], today: date) -> bool:
        return self.package == package and self.id in ids and today <= self.until


def read_allowances(path: Path = ALLOWED) -> list[Allowance]:
    return [Allowance(**entry) for entry in tomllib.loads(path.read_text()).get("allowed", [])]


def list_locked_packages(lock: Path = LOCK) -> list[str]:
    """Return all packages of the lock file as ``name==version``, also those for other platforms and Python versions."""
    packages = tomllib.loads(lock.read_text())["package"]
    return sorted(
        {f"{package['name']}=={package['version']}" for package in packages if "virtual" not in package["source"]}
    )


def audit_packages(packages: Sequence[str]) -> list[Any]:
    """Return pip-audit's entries for all packages. Each run of pip-audit accepts one version of a package.

    Raises:
        ServiceUnavailable: The vulnerability service could not be reached.
        AuditFailed: pip-audit failed for another reason.
    """
    seen: Counter[str] = Counter()
    runs: dict[int, list[str]] = {}
    for package in packages:
        name = package.partition("==")[0]
        runs.setdefault(seen[name], []).append(package)
        seen[name] += 1
    # Later runs check only other versions of a few packages, so that a service that goes away hides no findings.
    first, *others = runs.values()
    entries = _run_pip_audit(first)
    for run in others:
        try:
            entries += _run_pip_audit(run)
        except ServiceUnavailable as error:
            named = (package.partition("==") for package in run)
            entries += [{"name": name, "version": version, "skip_reason": str(error)} for name, _, version in named]
    return entries


def _run_pip_audit(packages: Sequence[str]) -> list[Any]:
    options = ["--disable-pip", "--no-deps", "--format", "json", "--progress-spinner", "off"]
    with tempfile.TemporaryDirectory() as folder:
        requirements = Path(folder, "requirements.txt")
        requirements.write_text("\n".join(packages))
        command = [sys.executable, "-m", "pip_audit", *options, "--timeout", str(_REQUEST_TIMEOUT)]
        command += ["--vulnerability-service", "pypi", "--cache-dir", folder, "--requirement", str(requirements)]
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            raise ServiceUnavailable(f"no result within {TIMEOUT} seconds") from None
    try:
        entries: list[Any] = json.loads(result.stdout)["dependencies"]
    except ValueError:
        reason = result.stderr.strip().rpartition("\n")[2]
        error = ServiceUnavailable if _UNAVAILABLE.search(result.stderr) else AuditFailed
        raise error(reason) from None
    return entries


def describe_entries(entries: Sequence[Any], allowances: Sequence[Allowance], today: date) -> tuple[list[str], bool]:
    """Return the lines of the output, and True if a vulnerability is not allowed."""
    lines, failed = [], False
    unchecked = [entry["name"] for entry in entries if "skip_reason" in entry]
    for entry in entries:
        for found in entry.get("vulns", ()):
            ids = [found["id"], *found["aliases"]]
            reasons = [allowed.reason for allowed in allowances if allowed.covers(entry["name"], ids, today)]
            failed = failed or not reasons
            fix = f"fixed in {', '.join(found['fix_versions'])}" if found["fix_versions"] else "no fix yet"
            state = f"allowed: {reasons[0]}" if reasons else "NOT ALLOWED"
            lines.append(f"{entry['name']} {entry['version']}: {', '.join(ids)} ({fix}; {state})")
    lines.append(f"Checked {len(entries) - len(unchecked)} of {len(entries)} packages.")
    if unchecked:
        names = ", ".join(unchecked[:10]) + (" …" if len(unchecked) > 10 else "")
        lines.append(f"WARNING: {len(unchecked)} packages were NOT checked, because the service has no data: {names}")
    return lines, failed


def run_audit() -> tuple[list[str], int]:
    """Return the lines of the output and the exit status."""
    packages = list_locked_packages()
    try:
        entries = audit_packages(packages)
    except ServiceUnavailable as error:
        reason = f"because the service is not available: {error}"
        return [f"WARNING: {len(packages)} packages were NOT checked, {reason}"], 0
    except AuditFailed as error:
        return [f"pip-audit failed: {error}"], 1
    lines, failed = describe_entries(entries, read_allowances(), datetime.now(UTC).date())
    return lines, int(failed)
