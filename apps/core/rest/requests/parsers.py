"""Parse the query string and the body of a request before the view runs."""

from collections.abc import Collection
from email.message import Message
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.http import HttpRequest

from apps.core.i18n.error_messages import BAD_REQUEST, PARAMETER_MISSING
from apps.core.rest.exceptions import ApiError, BadRequest, Unprocessable, get_reason_phrase
from apps.core.strict_json import InvalidJson, JsonTooLong, UnstorableText, parse_json
from apps.core.types import RequestData

_MAX_DIGITS = 18
# Client libraries send these bodies for actions without arguments, some of them as forms.
_EMPTY_BODIES = frozenset({b"", b"[]", b"{}"})
_MAX_EMPTY_LENGTH = 4


def parse_query_string(request: HttpRequest) -> dict[str, str]:
    """Return the query parameters, with the last value of repeated parameters. ``limit`` must not be repeated."""
    raw = request.META.get("QUERY_STRING", "")
    if not raw:
        return {}
    if "%" in raw or not raw.isascii():
        try:
            decoded = unquote_to_bytes(raw.replace("+", " ")).decode()
        except UnicodeError:
            raise BadRequest(BAD_REQUEST, detail="the query is not UTF-8") from None
        if "\x00" in decoded:
            raise BadRequest(BAD_REQUEST, detail="the query contains a NUL character")
    if len(request.GET.getlist("limit")) > 1:
        raise BadRequest({"limit": "must be given once"})
    return {name: values[-1] for name, values in request.GET.lists() if values}


def get_body_limit(*, uploads: bool) -> int:
    return settings.API_UPLOAD_BODY_LIMIT if uploads else settings.API_BODY_LIMIT


def check_content_length(request: HttpRequest, *, uploads: bool = False) -> int:
    """Return the ``Content-Length`` in bytes, without reading the body. A body that is too large is an error (413)."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not (length.isascii() and length.isdigit()):
        raise BadRequest(BAD_REQUEST, detail="Content-Length is not a number")
    # Limit the digits, because Python parses very long numbers slowly.
    if len(length) > _MAX_DIGITS or int(length) > get_body_limit(uploads=uploads):
        raise ApiError(get_reason_phrase(413), status=413)
    return int(length)


def parse_json_body(request: HttpRequest, *, uploads: bool = False) -> object:
    """Return the parsed JSON body, or None if there is no body. Errors have the status 400, 413, 415 or 422."""
    length = check_content_length(request, uploads=uploads)
    if length == 0:
        return None
    if length <= _MAX_EMPTY_LENGTH and (body := request.body.strip()) in _EMPTY_BODIES:
        return {} if body == b"{}" else None
    _check_content_type(request.META.get("CONTENT_TYPE", ""))
    try:
        return parse_json(request.body, limit=get_body_limit(uploads=uploads))
    except JsonTooLong:
        raise ApiError(get_reason_phrase(413), status=413) from None
    except UnstorableText as error:
        raise Unprocessable(error.errors) from None
    except InvalidJson as error:
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
        raise ApiError(get_reason_phrase(415), status=415)


def unwrap_resource(value: object, singular: str, other_names: Collection[str] = ()) -> RequestData:
    """Return the object under the resource's singular name. The body must not contain another resource."""
    inner = value.get(singular) if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(inner, dict):
        raise BadRequest({singular: PARAMETER_MISSING})
    if any(key != singular and key in other_names for key in value):
        raise BadRequest({singular: PARAMETER_MISSING})
    return inner


def accepts_json(request: HttpRequest) -> bool:
    accept = request.META.get("HTTP_ACCEPT", "").lower()
    return not accept or "*/*" in accept or "application/json" in accept or "application/*" in accept
