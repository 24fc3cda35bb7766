"""Reading request bodies: strict JSON, whose refusals become answers."""

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.parsers import BaseParser

from apps.api.errors import ApiError, BadRequest, Unprocessable, reason
from apps.ground import strict_json


class StrictJSONParser(BaseParser):
    """Parses ``application/json`` bodies in UTF-8; numbers with a point become ``Decimal``."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """The value of a body; ``None`` where the body is empty."""
        context = parser_context or {}
        upload = bool(getattr(context.get("view"), "takes_uploads", False))
        return parse_json(stream.read(), limit=settings.API_UPLOAD_BODY_LIMIT if upload else settings.API_BODY_LIMIT)


def parse_json(body: bytes, *, limit: int) -> Any:
    """The value of a JSON text.

    Raises:
        BadRequest: It is malformed; ``detail`` says where.
        Unprocessable: A text in it cannot be stored.
        ApiError: It is too large (413).
    """
    try:
        return strict_json.parse_json(body, limit=limit)
    except strict_json.TooLong:
        raise ApiError(reason(413), status=413) from None
    except strict_json.Unstorable as error:
        raise Unprocessable(error.errors) from None
    except strict_json.BadJson as error:
        raise BadRequest("Bad Request", detail=str(error)) from error
