"""Objects in files have the form of the REST interface, in one of its versions."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from apps.api.exceptions import ApiError
from apps.api.render_context import RenderContext
from apps.api.resources.serializers import ResourceSerializer
from apps.api.versions import get_latest_version
from apps.exchange.domain.import_rows import RowRefused
from apps.ground.base_models import M
from apps.ground.tenancy import get_current_shop

_MEMBER = re.compile(r"(?P<one>[a-z_]+)s\.(?P<number>[0-9]+)\.", re.ASCII)


def file_version() -> str:
    """Return the interface version in which files are written and read."""
    return get_latest_version()


def file_context() -> RenderContext:
    """Return the render context for a file of the current shop."""
    return RenderContext(get_current_shop(), file_version())


@contextmanager
def convert_api_errors() -> Iterator[None]:
    """Convert errors of the interface about a body to an error of the row.

    Raises:
        RowRefused: The error has all messages in one sentence.
    """
    try:
        yield
    except ApiError as error:
        errors = error.errors
        if isinstance(errors, Mapping):
            errors = "; ".join(f"{_format_path(field)} {', '.join([*messages])}" for field, messages in errors.items())
        raise RowRefused(str(errors)) from error


def _format_path(field: str) -> str:
    """Format a field path with numbers from 1: ``variants.0.price`` is the price of variant 1."""
    return _MEMBER.sub(lambda match: f"{match['one'].replace('_', ' ')} {int(match['number']) + 1}: ", field)


def get_member_names(serializer: type[ResourceSerializer[M]], *extra_names: str) -> frozenset[str]:
    """Return the allowed members of a JSON object: all fields of the serializer, ``id``, and the given names."""
    return frozenset({"id", *serializer._declared_fields, *extra_names})
