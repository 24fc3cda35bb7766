"""Order addresses: snapshots that are validated and completed like customer addresses."""

from apps.customers.domain.addresses import COLUMNS, clean_address
from apps.customers.models import Address
from apps.ground.types import Attrs, Errors, ReadOnlyAttrs


def apply_address_changes(before: ReadOnlyAttrs | None, values: ReadOnlyAttrs) -> tuple[Attrs | None, Errors]:
    """Apply changes to an address snapshot.

    Args:
        before: The order's snapshot, or None.
        values: The changed columns, in the format of ``clean_address``. Other columns keep their values.

    Returns:
        The snapshot, or None if all values are blank, and the errors as ``{field: [messages]}``.
    """
    if before is None and not any(values.values()):
        return None, {}
    present = None if before is None else Address(**{name: before.get(name) or "" for name in COLUMNS})
    snapshot, errors = clean_address(values, present)
    if errors or before is None:
        return snapshot, errors
    after = {**before, **{name: value for name, value in snapshot.items() if value != before.get(name)}}
    return (after if any(after.values()) else None), {}
