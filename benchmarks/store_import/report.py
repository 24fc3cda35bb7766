"""The results of the benchmark, their goals, and the table that shows them."""

import json
import re
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

MAX_MB = 250
MAX_SECONDS_BEHIND = 30
MAX_SHOWN = 40


@dataclass(kw_only=True)
class Results:
    """The results of all steps. ``findings`` are the differences that ``--verify`` does not list as limits.

    Attributes:
        objects: The objects of the first complete pass, as its report counts them.
        import_seconds: The time of the processes of this pass, without waiting for the claims of killed processes.
        requests: The requests of this pass to the store.
        final_requests: The requests of the final run, by route.
        second_events: The events and webhook deliveries that the second run has added to the shop.
    """

    objects: int = 0
    import_seconds: float = 0.0
    requests: int = 0
    kills: int = 0
    kills_while_following: int = 0
    busy_seconds: float = 0.0
    peak_mb: float = 0.0
    writes: int = 0
    unexpected_statuses: dict[int, int] = field(default_factory=dict)
    final_seconds: float = 0.0
    final_requests: dict[str, int] = field(default_factory=dict)
    seconds_behind: float | None = None
    verify_seconds: float = 0.0
    summaries: dict[str, dict[str, int]] = field(default_factory=dict)
    findings: list[dict[str, Any]] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    second_seconds: float = 0.0
    second_changes: dict[str, dict[str, int]] = field(default_factory=dict)
    second_events: int = 0
    counts: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def differences(self) -> int:
        """The number of objects that differ, are missing, or are only in one of the shops."""
        kinds = ("differing", "missing", "deleted", "more")
        return sum(summary[kind] for summary in self.summaries.values() for kind in kinds)

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        values = {**asdict(self), "differences": self.differences}
        path.write_text(json.dumps(values, indent=1, default=str))


class Measure(NamedTuple):
    name: str
    value: str
    goal: str = ""
    is_reached: bool = True


def list_measures(results: Results) -> list[Measure]:
    behind = results.seconds_behind
    second = sum(numbers["new"] + numbers["changed"] for numbers in results.second_changes.values())
    final, compared, again = results.final_seconds, results.verify_seconds, results.second_seconds
    is_quiet = not second and not results.second_events
    return [
        Measure("objects per second", f"{results.objects / max(results.import_seconds, 0.001):,.1f}"),
        Measure("requests per object", f"{results.requests / max(results.objects, 1):.3f}"),
        Measure("objects; seconds", f"{results.objects:,}; {results.import_seconds:,.0f}"),
        Measure("kills, while following the store", f"{results.kills}, {results.kills_while_following}"),
        Measure("waiting for the claims of killed processes", f"{results.busy_seconds:,.0f} s"),
        Measure("writes to the store during the import", f"{results.writes:,}"),
        Measure("peak memory", f"{results.peak_mb:.0f} MB", f"≤ {MAX_MB} MB", results.peak_mb <= MAX_MB),
        Measure(
            "time behind the store at the end",
            "unknown" if behind is None else f"{behind:.1f} s",
            f"≤ {MAX_SECONDS_BEHIND} s",
            behind is not None and behind <= MAX_SECONDS_BEHIND,
        ),
        Measure("final run; comparison; second run", f"{final:,.0f} s; {compared:,.0f} s; {again:,.0f} s"),
        Measure("objects that differ or are missing", f"{results.differences:,}", "0", not results.differences),
        Measure("second run: new or changed; events", f"{second:,}; {results.second_events:,}", "0; 0", is_quiet),
    ]


def print_results(results: Results) -> bool:
    """Print the table, and the differences in groups. Return True if a goal is missed."""
    measures = list_measures(results)
    print("\n| measure | result | goal | |\n|---|---|---|---|")
    for name, value, goal, is_reached in measures:
        print(f"| {name} | {value} | {goal} | {'' if is_reached else 'MISSED'} |")
    _print_groups("differences", [_describe(finding) for finding in results.findings])
    _print_groups("not imported", [re.sub(r"\d+", "N", line) for line in results.refusals])
    for name, numbers in results.second_changes.items():
        print(f"second run, {name}: {numbers['new']} new, {numbers['changed']} changed")
    if results.unexpected_statuses:
        print(f"Unexpected responses to writers: {results.unexpected_statuses}")
    return not all(measure.is_reached for measure in measures)


def _describe(finding: dict[str, Any]) -> str:
    where = re.sub(r"\[\d+\]", "[]", finding["field"])
    return f"{finding['stream']}: {finding['kind']} {where} {re.sub(r'[0-9]+', 'N', str(finding['reason']))}".strip()


def _print_groups(title: str, lines: list[str]) -> None:
    for line, count in Counter(lines).most_common(MAX_SHOWN):
        print(f"{title}: {count:,} × {line}")
