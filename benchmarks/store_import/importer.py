"""Run ``manage.py import_store`` in processes that can be killed."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.load import Unmeasurable
from benchmarks.store_import.api import BRAND

_BUSY = "Another process is importing"
_COUNTS = re.compile(r"^(\w+): (\d+) new, (\d+) changed, (\d+) unchanged, (\d+) failed$", re.MULTILINE)
_POLL_SECONDS = 0.05
# A claim ends after a minute.
_BUSY_PAUSE_SECONDS, _MAX_BUSY_SECONDS = 2.0, 120.0
OUTCOMES = ("new", "changed", "unchanged", "failed")


@dataclass(frozen=True)
class Run:
    """A run of the command. ``is_killed`` is True if it was killed before its end."""

    output: str
    code: int
    seconds: float
    peak_mb: float
    is_killed: bool

    def get_counts(self) -> dict[str, dict[str, int]]:
        """Return the number of objects by stream and outcome."""
        return {
            name: dict(zip(OUTCOMES, map(int, numbers), strict=True)) for name, *numbers in _COUNTS.findall(self.output)
        }


@dataclass
class Importer:
    """Runs the command with the environment of the shop that imports."""

    environment: Mapping[str, str]
    url: str
    token: str
    peak_mb: float = 0.0
    busy_seconds: float = 0.0
    _arguments: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self._arguments = [sys.executable, "manage.py", "import_store", self.url, "--brand", BRAND]

    def run(self, *options: str, kill_after: float | None = None) -> Run:
        """Run the command to its end, or kill it after some seconds. Wait while a killed process has the claim.

        Raises:
            Unmeasurable: The claim does not end.
        """
        began = started = time.monotonic()
        while _BUSY in (run := self._run(options, kill_after)).output:
            if started - began > _MAX_BUSY_SECONDS:
                raise Unmeasurable(f"The claim of a killed process does not end:\n{run.output}")
            time.sleep(_BUSY_PAUSE_SECONDS)
            started = time.monotonic()
        self.busy_seconds += started - began
        self.peak_mb = max(self.peak_mb, run.peak_mb)
        return run

    def run_to_end(self, *options: str) -> Run:
        """Run the command to its end. Objects that were not imported or that differ are no errors here.

        Raises:
            Unmeasurable: The command has another error.
        """
        run = self.run(*options)
        check_end(run)
        return run

    def _run(self, options: tuple[str, ...], kill_after: float | None) -> Run:
        environment = {**os.environ, **self.environment, "SOURCE_ACCESS_TOKEN": self.token}
        with tempfile.TemporaryFile() as output:
            began = time.monotonic()
            process = subprocess.Popen(
                [*self._arguments, *options], env=environment, stdout=output, stderr=subprocess.STDOUT
            )
            is_killed = False
            try:
                while not (waited := os.wait4(process.pid, os.WNOHANG))[0]:
                    time.sleep(_POLL_SECONDS)
                    if kill_after is not None and time.monotonic() - began >= kill_after and not is_killed:
                        process.kill()
                        is_killed = True
            except BaseException:
                process.kill()
                process.wait()
                raise
            seconds = time.monotonic() - began
            process.returncode = os.waitstatus_to_exitcode(waited[1])
            output.seek(0)
            text = output.read().decode(errors="replace")
        # The peak of a process includes that of the process that started it until it runs its own program, so this
        # process does not load Django.
        peak_mb = waited[2].ru_maxrss / 1024
        return Run(text, process.returncode, seconds, peak_mb, is_killed and process.returncode < 0)


def check_end(run: Run) -> None:
    """Check that a run has ended with a report.

    Raises:
        Unmeasurable: The command was refused or has failed.
    """
    if run.code not in {0, 1} or not re.search(r"^[\w ]+: \d+ (new|equal), \d+ ", run.output, re.MULTILINE):
        raise Unmeasurable(f"import_store failed with the code {run.code}:\n{run.output[-3000:]}")
