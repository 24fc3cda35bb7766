"""What ``errors`` of an answer holds: messages, and codes in the words that clients know."""

import logging
import re
from collections.abc import Sequence
from typing import Any

from graphql import GraphQLError

from backoffice.logs import request_id

logger = logging.getLogger(__name__)

BAD_REQUEST = "BAD_REQUEST"
ACCESS_DENIED = "ACCESS_DENIED"
INTERNAL = "INTERNAL_SERVER_ERROR"
INVALID_VARIABLE = "INVALID_VARIABLE"
MAX_COST_EXCEEDED = "MAX_COST_EXCEEDED"
THROTTLED = "THROTTLED"

# What validation says, and the code of it.
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


def refusal(message: str, code: str = BAD_REQUEST, **extensions: object) -> GraphQLError:
    """An error of the whole request, or of one field in it, with its code."""
    return GraphQLError(message, extensions={"code": code, **extensions})


def shown(errors: Sequence[GraphQLError]) -> list[dict[str, Any]]:
    """The errors of an answer; of a defect only that there was one."""
    return [_shown(error) for error in errors]


def defect_of(error: GraphQLError) -> Exception | None:
    """What broke while a field was resolved; None where the error is a refusal."""
    cause = error.original_error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    return cause if isinstance(cause, Exception) else None


def _shown(error: GraphQLError) -> dict[str, Any]:
    # Values of wrong types are told by errors of Python's own, of which the message says all; fields have a path.
    if error.path and (defect := defect_of(error)) is not None:
        logger.error("A GraphQL field failed", exc_info=defect)
        error = GraphQLError(
            f"Internal error. Request id: {request_id.get()}",
            nodes=error.nodes,
            path=error.path,
            extensions={"code": INTERNAL, "requestId": request_id.get()},
        )
    written: dict[str, Any] = dict(error.formatted)
    written.setdefault("extensions", {"code": _code(error.message)})
    return written


def _code(message: str) -> str:
    return next((code for pattern, code in _CODES if re.match(pattern, message)), BAD_REQUEST)
