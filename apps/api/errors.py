"""Every refusal of the interface, as JSON.

Rule: decisions, Errors. Domain errors (``apps.ground.errors.DomainError``) carry their field messages and status; this
module alone turns exceptions into bodies.
"""

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import orjson
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.core.exceptions import ValidationError as ModelValidationError
from django.db import DatabaseError, IntegrityError
from django.http import Http404, HttpResponse, UnreadablePostError
from rest_framework import exceptions

from apps.ground.constraints import breach_of, lacks_reference
from apps.ground.errors import DomainError, Gone
from apps.ground.outages import MOVING, RETRY_AFTER, is_full, is_outage, is_read_only
from apps.ground.phrases import NOT_FOUND

logger = logging.getLogger(__name__)

Kinds = type[Exception] | tuple[type[Exception], ...]
CONTENT_TYPE = "application/json; charset=utf-8"
BASE = "base"


class ApiError(Exception):
    """A refusal with its status and the value of ``errors``."""

    status = 400

    def __init__(
        self,
        errors: object,
        *,
        status: int | None = None,
        headers: dict[str, str] | None = None,
        detail: str | None = None,
    ) -> None:
        """Say what is wrong; ``errors`` is a text or an object of lists."""
        super().__init__(errors)
        self.errors = errors
        self.status = status or self.status
        self.headers = headers or {}
        self.detail = detail


class BadRequest(ApiError):
    """The request could not be understood."""

    status = 400


class Unprocessable(ApiError):
    """The request is understood and refused: ``{field: [messages]}``."""

    status = 422


class Conflict(ApiError):
    """The same request is being worked on."""

    status = 409


def error_response(
    errors: object, status: int, *, headers: dict[str, str] | None = None, detail: str | None = None
) -> HttpResponse:
    """A body ``{"errors": …}``, with ``detail`` where it helps."""
    body = {"errors": errors} if detail is None else {"errors": errors, "detail": detail}
    return HttpResponse(orjson.dumps(body), status=status, content_type=CONTENT_TYPE, headers=headers or {})


def reason(status: int) -> str:
    """What HTTP calls a status."""
    return HTTPStatus(status).phrase


def exception_handler(exc: Exception) -> HttpResponse:
    """The answer to an exception raised while a request was served."""
    for kinds, answer in _ANSWERS:
        if isinstance(exc, kinds):
            return answer(exc)
    if is_outage(exc) or is_full(exc):
        return _unavailable(exc)
    if _is_vanished(exc):
        logger.warning("A row went while a request was working with it", exc_info=exc)
        return error_response(NOT_FOUND, 404)
    logger.error("A request failed", exc_info=exc)
    return error_response(reason(500), 500)


def _is_vanished(exc: Exception) -> bool:
    """Whether another request deleted a row that this one had found.

    Saving named fields of such a row is the one thing for which Django raises a plain ``DatabaseError`` of its own;
    what the database itself reports has a cause.
    """
    return isinstance(exc, ObjectDoesNotExist) or (type(exc) is DatabaseError and exc.__cause__ is None)


def _unavailable(exc: Exception) -> HttpResponse:
    if is_read_only(exc):
        return error_response(MOVING, 503, headers={"Retry-After": RETRY_AFTER})
    logger.warning("The database or a disk did not serve a request: %s", exc)
    return error_response(reason(503), 503, headers={"Retry-After": RETRY_AFTER})


def _framework_refusal(exc: exceptions.APIException) -> HttpResponse:
    return error_response(reason(exc.status_code), exc.status_code)


def _messages_of(exc: ModelValidationError) -> dict[str, list[str]]:
    """A model's validation error in the interface's shape."""
    if hasattr(exc, "error_dict"):
        return {(BASE if field == "__all__" else field): messages for field, messages in exc.message_dict.items()}
    return {BASE: exc.messages}


def _integrity_response(exc: IntegrityError) -> HttpResponse:
    """A breach of a named constraint is a refusal that names its field; anything else is a defect.

    Rows are locked where one that is referred to may go meanwhile; where two requests still meet, the later may retry.
    """
    breach = breach_of(exc)
    if breach is None and lacks_reference(exc):
        logger.warning("A row that a request refers to was deleted meanwhile: %s", exc)
        return error_response(reason(409), 409, headers={"Retry-After": "1.0"})
    if breach is None:
        logger.error("The database refused a row", exc_info=exc)
        return error_response(reason(500), 500)
    return error_response({breach.field: [breach.message]}, 422)


# The first kind that fits answers.
_ANSWERS: tuple[tuple[Kinds, Callable[[Any], HttpResponse]], ...] = (
    (ApiError, lambda exc: error_response(exc.errors, exc.status, headers=exc.headers, detail=exc.detail)),
    (Gone, lambda exc: error_response(NOT_FOUND, 404)),
    (DomainError, lambda exc: error_response(exc.errors, exc.status, headers=exc.headers)),
    (ModelValidationError, lambda exc: error_response(_messages_of(exc), 422)),
    (IntegrityError, _integrity_response),
    (Http404, lambda exc: error_response(NOT_FOUND, 404)),
    (PermissionDenied, lambda exc: error_response(f"[API] {exc}" if str(exc) else reason(403), 403)),
    (exceptions.APIException, _framework_refusal),
    (UnreadablePostError, lambda exc: error_response(reason(408), 408, headers={"Connection": "close"})),
    (RequestDataTooBig, lambda exc: error_response(reason(413), 413)),
    (SuspiciousOperation, lambda exc: error_response(reason(400), 400)),
)
