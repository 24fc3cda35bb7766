"""What a view reads of a request: the query and the body, checked before anything is done."""

from collections.abc import Collection
from email.message import Message
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.http import HttpRequest

from apps.api.errors import ApiError, BadRequest, Unprocessable, reason
from apps.api.shapes import Data
from apps.ground.phrases import BAD_REQUEST, PARAMETER_MISSING
from apps.ground.strict_json import BadJson, TooLong, Unstorable, parse_json

_MAX_DIGITS = 18


def read_query(request: HttpRequest) -> dict[str, str]:
    """The query's parameters; of a doubled one the last counts, except for the limit.

    Raises:
        BadRequest: The query is not UTF-8, holds a NUL, or names the limit twice.
    """
    raw = request.META.get("QUERY_STRING", "")
    if not raw:
        return {}
    if "%" in raw or not raw.isascii():
        try:
            decoded = unquote_to_bytes(raw.replace("+", " ")).decode()
        except UnicodeError:
            raise BadRequest(BAD_REQUEST, detail="the query is not UTF-8") from None
        if "\x00" in decoded:
            raise BadRequest(BAD_REQUEST, detail="the query holds a NUL character")
    if len(request.GET.getlist("limit")) > 1:
        raise BadRequest({"limit": "must be given once"})
    return {name: values[-1] for name, values in request.GET.lists() if values}


def body_limit(*, uploads: bool) -> int:
    """How many bytes a body may have."""
    return settings.API_UPLOAD_BODY_LIMIT if uploads else settings.API_BODY_LIMIT


def check_length(request: HttpRequest, *, uploads: bool = False) -> int:
    """How many bytes the body is announced to have; nothing of it is read.

    Raises:
        ApiError: 413, it is too large.
        BadRequest: The number is none.
    """
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not (length.isascii() and length.isdigit()):
        raise BadRequest(BAD_REQUEST, detail="Content-Length is no number")
    # A number of thousands of digits is not even read.
    if len(length) > _MAX_DIGITS or int(length) > body_limit(uploads=uploads):
        raise ApiError(reason(413), status=413)
    return int(length)


def read_json(request: HttpRequest, *, uploads: bool = False) -> object:
    """The body's JSON value; None where there is no body.

    Raises:
        ApiError: 411, 413 or 415.
        BadRequest: It is malformed; ``detail`` says where.
        Unprocessable: A text in it cannot be stored.
    """
    if check_length(request, uploads=uploads) == 0:
        return None
    _check_content_type(request.META.get("CONTENT_TYPE", ""))
    try:
        return parse_json(request.body, limit=body_limit(uploads=uploads))
    except TooLong:
        raise ApiError(reason(413), status=413) from None
    except Unstorable as error:
        raise Unprocessable(error.errors) from None
    except BadJson as error:
        raise BadRequest(BAD_REQUEST, detail=str(error)) from error


def _check_content_type(text: str) -> None:
    if text in {"application/json", "application/json; charset=utf-8"}:
        return
    header = Message()
    header["Content-Type"] = text
    charset = header.get_param("charset")
    if header.get_content_type() != "application/json" or (
        charset is not None and str(charset).lower() not in {"utf-8", "utf8"}
    ):
        raise ApiError(reason(415), status=415)


def unwrap(value: object, singular: str, others: Collection[str] = ()) -> Data:
    """The object under the resource's singular name.

    Raises:
        BadRequest: It is missing or no object, or another resource's wrapper stands beside it.
    """
    inner = value.get(singular) if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(inner, dict):
        raise BadRequest({singular: PARAMETER_MISSING})
    if any(key != singular and key in others for key in value):
        raise BadRequest({singular: PARAMETER_MISSING})
    return inner


def accepts_json(request: HttpRequest) -> bool:
    """Whether the client can read our answers."""
    accept = request.META.get("HTTP_ACCEPT", "").lower()
    return not accept or "*/*" in accept or "application/json" in accept or "application/*" in accept
