from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

from django.http import HttpResponse
from rest_framework.request import Request

from apps.core.graphql.caller import Caller
from apps.core.i18n.error_messages import BAD_REQUEST, PARAMETER_MISSING
from apps.core.rest.exceptions import BadRequest
from apps.core.rest.requests import throttling
from apps.core.rest.requests.parsers import check_content_length
from apps.core.rest.requests.views import ApiView
from apps.core.types import Schema

_RESPONSE: Schema = {
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
    """``POST /graphql.json``: execute one GraphQL document with the schema of the API version.

    If the request can be parsed, the status is 200 and ``errors`` contains the errors of the document. Each field
    checks the required access scope.
    """

    request_bodies: ClassVar[Mapping[str, Schema]] = {"execute": _BODY}
    responses: ClassVar[Mapping[str, Schema | str]] = {"execute": _RESPONSE}

    def count_call(self) -> throttling.RateLimitState:
        """Return the state of the REST rate limit without counting a call, because documents cost points instead."""
        return throttling.count_call(app_id=self.access.installation.app_id, shop=self.shop, calls=0)

    @cached_property
    def body(self) -> object:
        """Return the GraphQL request; a body of type ``application/graphql`` is the document itself."""
        request = self.request._request
        if request.META.get("CONTENT_TYPE", "").partition(";")[0].strip() != _PLAIN:
            return super().body
        check_content_length(request)
        try:
            return {"query": request.body.decode()}
        except UnicodeDecodeError as error:
            raise BadRequest(BAD_REQUEST, detail=str(error)) from None

    def execute(self, request: Request) -> HttpResponse:
        """Execute a GraphQL document that reads or changes data."""
        # Import late, because the import is slow and many processes never execute a document.
        from apps.core.graphql.execution import execute_document

        return self.json_response(execute_document(*self._read(), Caller(self.access, self.version, self.at)))

    def _read(self) -> tuple[str, dict[str, object] | None, str | None]:
        """Return the document, the variables and the name of the operation to run."""
        body = self.body if isinstance(self.body, dict) else {}
        query, variables, operation = (body.get(name) for name in ("query", "variables", "operationName"))
        if not isinstance(query, str) or not query.strip():
            raise BadRequest({"query": PARAMETER_MISSING})
        if variables is not None and not isinstance(variables, dict):
            raise BadRequest({"variables": PARAMETER_MISSING})
        if operation is not None and not isinstance(operation, str):
            raise BadRequest({"operationName": PARAMETER_MISSING})
        return query, variables, operation or None
