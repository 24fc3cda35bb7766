"""Render the table of fulfillment order states for ``docs/fulfillment.md``."""

from collections.abc import Iterable, Iterator

from apps.fulfillment.domain.fulfillment_orders.states import ANY_REQUEST, TABLE, ManagedBy, State
from apps.fulfillment.models.orders import STATES, RequestStatus


def iterate_states() -> Iterator[State]:
    for status, requests in STATES.items():
        for request in requests:
            yield status, request


_STATUS_ORDER = tuple(STATES)


def render_diagram() -> str:
    arrows: dict[tuple[str, str], list[str]] = {}
    for rule in TABLE:
        for before in sorted(rule.statuses, key=_STATUS_ORDER.index):
            for after in rule.to:
                label = arrows.setdefault((before, after), [])
                if rule.action.value not in label:
                    label.append(rule.action.value)
    lines = ["stateDiagram-v2", "    [*] --> open: routing", "    [*] --> scheduled: routing with a later date"]
    lines += [f"    {before} --> {after}: {', '.join(names)}" for (before, after), names in arrows.items()]
    return "\n".join([*lines, *(f"    {end} --> [*]" for end in ("closed", "incomplete", "cancelled"))])


def render_table() -> str:
    rows = ["| action | where | by | from | to |", "|---|---|---|---|---|"]
    for rule in TABLE:
        location = "everywhere" if rule.places == frozenset(ManagedBy) else next(iter(rule.places)).value
        before = _join_ordered(rule.statuses, _STATUS_ORDER)
        if rule.requests != ANY_REQUEST:
            before += f" / {_join_ordered(rule.requests, tuple(RequestStatus))}"
        after = " or ".join(rule.to) or "unchanged"
        after += f" / {rule.request}" if rule.request else ""
        after += "; unfulfilled items move to a new fulfillment order" if rule.creates_replacement else ""
        rows.append(f"| `{rule.action.value}` | {location} | {rule.side.value} | {before} | {after} |")
    return "\n".join(rows)


def _join_ordered(words: Iterable[str], order: tuple[str, ...]) -> str:
    return ", ".join(sorted((str(word) for word in words), key=[str(word) for word in order].index))
