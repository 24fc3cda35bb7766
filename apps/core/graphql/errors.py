"""Create and format the ``errors`` of a response, with the codes that clients know."""

import logging
import re
from collections.abc import Sequence
from typing import Any

from graphql import GraphQLError

from apps.core.events.context import request_id

logger = logging.getLogger(__name__)

BAD_REQUEST = "BAD_REQUEST"
ACCESS_DENIED = "ACCESS_DENIED"
INTERNAL = "INTERNAL_SERVER_ERROR"
INVALID_VARIABLE = "INVALID_VARIABLE"
MAX_COST_EXCEEDED = "MAX_COST_EXCEEDED"
THROTTLED = "THROTTLED"

# Validation messages and their codes.
_CODES = (
    (r"Syntax Error", "PARSE_ERROR"),
    (r"Document contains more than|.*document.*tokens", "PARSE_ERROR"),
    (r"Cannot query field", "undefinedField"),
    (r"Unknown argument", "argumentNotAccepted"),
    (r"(Argument|Field) .* is required", "missingRequiredArguments"),
    (r"Unknown type", "undefinedType"),
    (r"Unknown fragment", "useAndDefineFragment"),
    (r"Variable .* is not defined", "variableNotDefined"),
    (r"Variable .* is never used", "variableNotUsed"),
    (r"Variable .* got invalid value|Variable .* of required type", INVALID_VARIABLE),
    (r"Variable .* of type .* used in position", "variableMismatch"),
    (r"Value .* does not exist in|.* cannot represent|Expected value of type|Enum ", "argumentLiteralsIncompatible"),
    (r"Field .* must (not )?have a (sub)?selection", "selectionMismatch"),
    (r"Unknown operation named|Must provide", "missingOperation"),
)


def graphql_error(message: str, code: str = BAD_REQUEST, **extensions: object) -> GraphQLError:
    """Create a GraphQL error with a code, for the whole request or one field."""
    return GraphQLError(message, extensions={"code": code, **extensions})


def format_errors(errors: Sequence[GraphQLError]) -> list[dict[str, Any]]:
    """Format the errors of a response; unexpected exceptions are reported without details."""
    return [_format_error(error) for error in errors]


def get_unexpected_error(error: GraphQLError) -> Exception | None:
    """Return the unexpected exception of a resolver, or None if the error was raised on purpose."""
    cause = error.original_error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    return cause if isinstance(cause, Exception) else None


def _format_error(error: GraphQLError) -> dict[str, Any]:
    # Errors about invalid values also wrap a Python exception. Unlike field errors, they have no path, and their
    # messages are safe to show.
    if error.path and (defect := get_unexpected_error(error)) is not None:
        logger.error("A GraphQL field failed", exc_info=defect)
        error = GraphQLError(
            f"Internal error. Request id: {request_id.get()}",
            nodes=error.nodes,
            path=error.path,
            extensions={"code": INTERNAL, "requestId": request_id.get()},
        )
    formatted: dict[str, Any] = dict(error.formatted)
    code = next((code for pattern, code in _CODES if re.match(pattern, error.message)), BAD_REQUEST)
    formatted.setdefault("extensions", {"code": code})
    return formatted
