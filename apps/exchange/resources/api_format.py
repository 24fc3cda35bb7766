"""Convert objects between files and the REST API. Files use the format of the latest API version."""

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
    """Return the API version that determines the format of files."""
    return get_latest_version()


def file_context() -> RenderContext:
    """Return the context to render objects for a file of the current shop."""
    return RenderContext(get_current_shop(), file_version())


@contextmanager
def convert_api_errors() -> Iterator[None]:
    """Convert a validation error of the REST API to a row error.

    Raises:
        RowRefused: If the body is invalid. The error contains all messages in one sentence.
    """
    try:
        yield
    except ApiError as error:
        errors = error.errors
        if isinstance(errors, Mapping):
            errors = "; ".join(f"{_format_path(field)} {', '.join([*messages])}" for field, messages in errors.items())
        raise RowRefused(str(errors)) from error


def _format_path(field: str) -> str:
    """Format a field path for display, counting from 1: ``variants.0.price`` becomes ``variant 1: price``."""
    return _MEMBER.sub(lambda match: f"{match['one'].replace('_', ' ')} {int(match['number']) + 1}: ", field)


def get_member_names(serializer: type[ResourceSerializer[M]], *extra_names: str) -> frozenset[str]:
    """Return the allowed members of a JSON object: the fields of the serializer, ``id``, and ``extra_names``."""
    return frozenset({"id", *serializer._declared_fields, *extra_names})
