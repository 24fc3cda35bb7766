"""Define the exceptions of the REST API and build their JSON responses.

Domain errors (``apps.core.exceptions.DomainError``) carry their own field messages and status. Only this module turns
exceptions into response bodies.
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

from apps.core.db.constraint_errors import find_violated_constraint, is_missing_reference
from apps.core.db.transient_errors import (
    RETRY_AFTER,
    SHOP_MOVING_MESSAGE,
    is_disk_full,
    is_read_only_shop_error,
    is_transient_db_error,
)
from apps.core.exceptions import AccessEnded, DomainError, RowDeleted
from apps.core.i18n.error_messages import NOT_FOUND

logger = logging.getLogger(__name__)

CONTENT_TYPE = "application/json; charset=utf-8"
BASE = "base"
# RFC 9110, section 11.6.1: each 401 names the authentication that would help.
CHALLENGE = {"WWW-Authenticate": 'Basic realm="Admin API", charset="UTF-8"'}
UNAUTHORIZED = "[API] Invalid API key or access token (unrecognized login or wrong password)"


class ApiError(Exception):
    """Raised to return an error response with a status and a value for ``errors``."""

    status = 400

    def __init__(
        self,
        errors: object,
        *,
        status: int | None = None,
        headers: dict[str, str] | None = None,
        detail: str | None = None,
    ) -> None:
        """Create an error; ``errors`` is a string or a dict with a list of messages per field."""
        super().__init__(errors)
        self.errors = errors
        self.status = status or self.status
        self.headers = headers or {}
        self.detail = detail


class BadRequest(ApiError):
    """Raised when the request cannot be parsed."""


class Unprocessable(ApiError):
    """Raised when the body is valid JSON with invalid values; ``errors`` is ``{field: [messages]}``."""

    status = 422


class Conflict(ApiError):
    """Raised when a request with the same idempotency key is still running."""

    status = 409


def render_error(
    errors: object, status: int, *, headers: dict[str, str] | None = None, detail: str | None = None
) -> HttpResponse:
    """Build an error response: ``{"errors": …}``, plus ``detail`` if given."""
    body = {"errors": errors} if detail is None else {"errors": errors, "detail": detail}
    return HttpResponse(orjson.dumps(body), status=status, content_type=CONTENT_TYPE, headers=headers or {})


def get_reason_phrase(status: int) -> str:
    return HTTPStatus(status).phrase


def exception_handler(exc: Exception) -> HttpResponse:
    """Return the response for an exception that was raised while handling a request."""
    for kinds, build_response in _RESPONSES:
        if isinstance(exc, kinds):
            return build_response(exc)
    if is_transient_db_error(exc) or is_disk_full(exc):
        return _unavailable_response(exc)
    if _is_deleted_row(exc):
        logger.warning("A row was deleted during a request", exc_info=exc)
        return render_error(NOT_FOUND, 404)
    logger.error("A request failed", exc_info=exc)
    return render_error(get_reason_phrase(500), 500)


def _is_deleted_row(exc: Exception) -> bool:
    """Return True if another request deleted a row that this request had loaded.

    Django raises a plain ``DatabaseError`` without a cause only when ``save(update_fields=…)`` updates no row. Errors
    reported by the database itself have a cause.
    """
    return isinstance(exc, ObjectDoesNotExist) or (type(exc) is DatabaseError and exc.__cause__ is None)


def _unavailable_response(exc: Exception) -> HttpResponse:
    if is_read_only_shop_error(exc):
        return render_error(SHOP_MOVING_MESSAGE, 503, headers={"Retry-After": RETRY_AFTER})
    logger.warning("The database or a disk was unavailable: %s", exc)
    return render_error(get_reason_phrase(503), 503, headers={"Retry-After": RETRY_AFTER})


def _model_messages(exc: ModelValidationError) -> dict[str, list[str]]:
    """Convert a model's ``ValidationError`` to ``{field: [messages]}``."""
    if hasattr(exc, "error_dict"):
        return {(BASE if field == "__all__" else field): messages for field, messages in exc.message_dict.items()}
    return {BASE: exc.messages}


def _integrity_response(exc: IntegrityError) -> HttpResponse:
    """Return a 422 for a violated named constraint, a 409 for a missing reference, otherwise a 500.

    Services lock the rows that they refer to, so a missing reference is rare. The client can retry the request.
    """
    breach = find_violated_constraint(exc)
    if breach is None and is_missing_reference(exc):
        logger.warning("A row that a request refers to was deleted: %s", exc)
        return render_error(get_reason_phrase(409), 409, headers={"Retry-After": "1.0"})
    if breach is None:
        logger.error("The database rejected a row", exc_info=exc)
        return render_error(get_reason_phrase(500), 500)
    return render_error({breach.field: [breach.message]}, 422)


# The order matters: the first entry that matches the exception builds the response.
_RESPONSES: tuple[tuple[type[Exception], Callable[[Any], HttpResponse]], ...] = (
    (ApiError, lambda exc: render_error(exc.errors, exc.status, headers=exc.headers, detail=exc.detail)),
    (RowDeleted, lambda exc: render_error(NOT_FOUND, 404)),
    (AccessEnded, lambda exc: render_error(UNAUTHORIZED, 401, headers=CHALLENGE)),
    (DomainError, lambda exc: render_error(exc.errors, exc.status, headers=exc.headers)),
    (ModelValidationError, lambda exc: render_error(_model_messages(exc), 422)),
    (IntegrityError, _integrity_response),
    (Http404, lambda exc: render_error(NOT_FOUND, 404)),
    (PermissionDenied, lambda exc: render_error(f"[API] {exc}" if str(exc) else get_reason_phrase(403), 403)),
    (exceptions.APIException, lambda exc: render_error(get_reason_phrase(exc.status_code), exc.status_code)),
    (UnreadablePostError, lambda exc: render_error(get_reason_phrase(408), 408, headers={"Connection": "close"})),
    (RequestDataTooBig, lambda exc: render_error(get_reason_phrase(413), 413)),
    (SuspiciousOperation, lambda exc: render_error(get_reason_phrase(400), 400)),
)
