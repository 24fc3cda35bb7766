"""Print the measurements and compare them with the goals."""

import statistics
from collections.abc import Iterable
from typing import Any

Results = dict[str, Any]


def get_median_rate(results: Results, variant: str, scenario: str) -> float | None:
    """Return the median rate of a variant, or None if it was not measured."""
    runs = results["variants"].get(variant, {}).get(scenario)
    return statistics.median(run["rate"] for run in runs) if runs else None


def print_rates(results: Results) -> None:
    """Print the responses per second of each variant."""
    scenarios = list(
        dict.fromkeys(name for matching_variant in results["variants"].values() for name in matching_variant)
    )
    print(
        "\n| responses per second (p99 in ms) | "
        + " | ".join(scenarios)
        + " | MB |\n|---|"
        + "---|" * (len(scenarios) + 1)
    )
    for variant, matching_variant in results["variants"].items():
        cells = []
        for scenario in scenarios:
            runs = matching_variant.get(scenario, [])
            rates, tails = ([run[name] for run in runs] for name in ("rate", "p99"))
            cells.append(f"{statistics.median(rates):,.0f} ({statistics.median(tails):.0f})" if runs else "–")
        print(f"| {variant} | " + " | ".join(cells) + f" | {results['memory_mb'][variant]:.0f} |")


def get_least_cost(results: Results, variant: str, scenario: str) -> float | None:
    """Return the lowest CPU time per response in milliseconds, or None if the database's CPU time is unknown."""
    runs = results["variants"].get(variant, {}).get(scenario)
    if not runs or variant == "naive":
        # The naive variant has no persistent connections, so the database's CPU time is unknown.
        return None
    least: float = min(run["web_ms"] + run["database_ms"] for run in runs)
    return least


def print_costs(results: Results) -> None:
    """Print the lowest CPU time per response, for the web processes and the database."""
    scenarios = list(
        dict.fromkeys(name for matching_variant in results["variants"].values() for name in matching_variant)
    )
    print(f"\n| CPU ms per response, web + database | {' | '.join(scenarios)} |")
    print("|---|" + "---|" * len(scenarios))
    for variant, matching_variant in results["variants"].items():
        cells = (_cost(matching_variant.get(scenario)) for scenario in scenarios)
        print(f"| {variant} | {' | '.join(cells)} |")


def _cost(runs: list[dict[str, float]] | None) -> str:
    if not runs:
        return "–"
    least = min(runs, key=lambda run: run["web_ms"] + run["database_ms"])
    return f"{least['web_ms']:.2f} + {least['database_ms']:.2f}"


def print_ratios(results: Results) -> None:
    """Print the ratios listed in ``docs/performance.md``, by rate and by CPU time, which is more stable."""
    print("\n| | by rate | by CPU time | must | stretch | result by rate |\n|---|---|---|---|---|---|")
    for name, value, used_seconds, must, stretch, unit in list_criteria(results):
        at_most = unit != "×" or name.startswith(("growth", "page"))
        good = [bound is None or (value <= bound if at_most else value >= bound) for bound in (must, stretch)]
        verdict = "must" if must else ""
        if not good[0]:
            verdict = "MISSED"
        elif good[1] and stretch is not None:
            verdict = "stretch"
        sign = "≤" if at_most else "≥"
        bounds = (f"{sign} {bound:g}" if bound is not None else "" for bound in (must, stretch))
        processor = f"{used_seconds:.2f} ×" if used_seconds else ""
        print(f"| {name} | {value:.2f} {unit} | {processor} | {' | '.join(bounds)} | {verdict} |")


def list_criteria(results: Results) -> Iterable[tuple[str, float, float | None, float | None, float | None, str]]:
    """Yield ``(name, value, value by CPU time, must, stretch, unit)``. A goal is None if it is not set."""
    comparisons: tuple[tuple[str, str, str, str, float | None, float | None], ...] = (
        ("list, cached / floor a", "ours", "floor a", "list", 1.5, None),
        ("list, cached / floor b", "ours", "floor b", "list", None, 0.8),
        ("list, not cached / floor a", "cold", "floor a", "list", 0.5, 0.8),
        ("one / floor a", "ours", "floor a", "one", 0.4, 0.7),
        ("create / floor a", "ours", "floor a", "create", 0.4, 0.7),
        ("list / naive", "ours", "naive", "list", 30, 100),
        ("one / naive", "ours", "naive", "one", 8, 20),
        ("create / naive", "ours", "naive", "create", 6, 12),
        ("products, cached / floor a", "ours", "floor a", "products", 1.2, 2.0),
        ("products, not cached / floor a", "cold", "floor a", "products", 0.4, 0.7),
        ("orders, cached / floor a", "ours", "floor a", "orders", 1.2, 2.0),
        ("orders, not cached / floor a", "cold", "floor a", "orders", 0.4, 0.7),
        ("SQLite / PostgreSQL, list", "sqlite", "ours", "list", 0.7, 1.0),
        ("SQLite / PostgreSQL, one", "sqlite", "ours", "one", 0.7, 1.0),
        ("SQLite / PostgreSQL, orders", "sqlite", "ours", "orders", 0.7, 1.0),
    )
    for name, ours, reference, scenario, must, stretch in comparisons:
        mine, its = get_median_rate(results, ours, scenario), get_median_rate(results, reference, scenario)
        if mine and its:
            used_seconds, reference_spent = (
                get_least_cost(results, ours, scenario),
                get_least_cost(results, reference, scenario),
            )
            yield (
                name,
                mine / its,
                reference_spent / used_seconds if used_seconds and reference_spent else None,
                must,
                stretch,
                "×",
            )
    small, large = results["latency_ms"].get("10000", {}), results["latency_ms"].get("1000000", {})
    for name in ("list", "one", "search"):
        if name in large:
            yield f"growth to a million rows, {name}", large[name] / small[name], None, 1.5, 1.1, "×"
    if large:
        ends = sorted((large["page at row 1"], large["page at the newest row"]))
        yield "page at row 1 / at row 1,000,000", ends[1] / ends[0], None, 1.3, 1.1, "×"
        yield "exact count of a million rows", large["count"], None, 150, 30, "ms"
    yield "memory of a web process", results["memory_mb"]["ours"], None, 250, None, "MB"
    yield "cold start", results["cold_start_s"], None, 2.5, 1.5, "s"
