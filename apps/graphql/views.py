"""The address of GraphQL."""

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

from django.http import HttpResponse
from rest_framework.request import Request

from apps.api.errors import BadRequest
from apps.api.requests import throttling
from apps.api.requests.bodies import check_length
from apps.api.requests.views import ApiView
from apps.api.shapes import Schema
from apps.graphql.caller import Caller
from apps.ground.phrases import BAD_REQUEST, PARAMETER_MISSING

_ANSWER: Schema = {
    "type": "object",
    "properties": {
        "data": {"type": ["object", "null"]},
        "errors": {"type": "array", "items": {"type": "object"}},
        "extensions": {"type": "object"},
    },
}
_BODY: Schema = {
    "type": "object",
    "required": ["query"],
    "properties": {
        "query": {"type": "string"},
        "variables": {"type": ["object", "null"]},
        "operationName": {"type": ["string", "null"]},
    },
}
_PLAIN = "application/graphql"


class GraphqlView(ApiView):
    """``POST /graphql.json``: one document, answered by the schema of the version.

    What can be read as a request is answered with 200; refusals of the document stand in ``errors``. Who may do what
    is said by each field.
    """

    bodies: ClassVar[Mapping[str, Schema]] = {"execute": _BODY}
    answers: ClassVar[Mapping[str, Schema | str]] = {"execute": _ANSWER}

    def pour(self) -> throttling.Level:
        """Documents cost points, out of buckets of their own; the calls of REST stay as they are."""
        return throttling.pour(app_id=self.access.installation.app_id, shop=self.shop, calls=0)

    @cached_property
    def body(self) -> object:
        """The request; a body may also be the document alone."""
        request = self.request._request
        if request.META.get("CONTENT_TYPE", "").partition(";")[0].strip() != _PLAIN:
            return super().body
        check_length(request)
        try:
            return {"query": request.body.decode()}
        except UnicodeDecodeError as error:
            raise BadRequest(BAD_REQUEST, detail=str(error)) from None

    def execute(self, request: Request) -> HttpResponse:
        """Answer a GraphQL document: read what it asks for, or change it."""
        # Loaded with the first document: many processes never see one.
        from apps.graphql.execution import answer

        return self.json(answer(*self._read(), Caller(self.access, self.version, self.at)))

    def _read(self) -> tuple[str, dict[str, object] | None, str | None]:
        """The document, its variables, and which of its operations is meant.

        Raises:
            BadRequest: One of them is of another type.
        """
        body = self.body if isinstance(self.body, dict) else {}
        query, variables, operation = (body.get(name) for name in ("query", "variables", "operationName"))
        if not isinstance(query, str) or not query.strip():
            raise BadRequest({"query": PARAMETER_MISSING})
        if variables is not None and not isinstance(variables, dict):
            raise BadRequest({"variables": PARAMETER_MISSING})
        if operation is not None and not isinstance(operation, str):
            raise BadRequest({"operationName": PARAMETER_MISSING})
        return query, variables, operation or None
