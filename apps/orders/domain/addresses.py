"""The addresses of an order: snapshots, completed by the rules for those of customers, and kept as they were given."""

from apps.customers.domain.addresses import COLUMNS, clean_address
from apps.customers.models import Address
from apps.ground.attrs import Attrs, Errors, Given


def changed(before: Given | None, given: Given) -> tuple[Attrs | None, Errors]:
    """A snapshot with what is given; parts that are not named stay as they were.

    Args:
        before: The snapshot that the order has; None for none.
        given: As for ``clean_address``.

    Returns:
        The snapshot, None for a blank one, and ``{field: [messages]}`` of what does not fit.
    """
    if before is None and not any(given.values()):
        return None, {}
    present = None if before is None else Address(**{name: before.get(name) or "" for name in COLUMNS})
    snapshot, errors = clean_address(given, present)
    if errors or before is None:
        return snapshot, errors
    after = {**before, **{name: value for name, value in snapshot.items() if value != before.get(name)}}
    return (after if any(after.values()) else None), {}
