"""The form in which files hold objects: that of the REST interface, in one of its versions."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from apps.api.context import Context
from apps.api.errors import ApiError
from apps.api.resources.serializers import ResourceSerializer
from apps.api.versions import newest
from apps.exchange.domain.rows import RowRefused
from apps.ground.rows import M
from apps.ground.tenancy import current_shop

_MEMBER = re.compile(r"(?P<one>[a-z_]+)s\.(?P<number>[0-9]+)\.", re.ASCII)


def file_version() -> str:
    """The version of the interface in which files are written and read."""
    return newest()


def file_context() -> Context:
    """What objects are rendered for: a file of the current shop."""
    return Context(current_shop(), file_version())


@contextmanager
def rows_refused() -> Iterator[None]:
    """Within it, what the interface says against a body is said of the row.

    Raises:
        RowRefused: With all messages in one sentence.
    """
    try:
        yield
    except ApiError as error:
        errors = error.errors
        if isinstance(errors, Mapping):
            errors = "; ".join(f"{_place(field)} {', '.join([*messages])}" for field, messages in errors.items())
        raise RowRefused(str(errors)) from error


def _place(field: str) -> str:
    """Where in the row a value stands, as people count: ``variants.0.price`` is the price of variant 1."""
    return _MEMBER.sub(lambda found: f"{found['one'].replace('_', ' ')} {int(found['number']) + 1}: ", field)


def members_of(serializer: type[ResourceSerializer[M]], *others: str) -> frozenset[str]:
    """The names that an object may have in a line of JSON: all that the interface shows or takes, and ``others``."""
    return frozenset({"id", *serializer._declared_fields, *others})
