"""Execute a GraphQL document with the schema of the requested version."""

from typing import Any

from graphql import GraphQLError
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError
from strawberry.types.execution import ExecutionResult

from apps.core.db.transient_errors import is_disk_full, is_transient_db_error
from apps.core.exceptions import AccessEnded
from apps.core.graphql.caller import Caller
from apps.core.graphql.errors import THROTTLED, format_errors, get_unexpected_error, graphql_error
from apps.core.graphql.schema import get_schema
from apps.core.rest.requests import throttling


def execute_document(
    query: str, variables: dict[str, Any] | None, operation: str | None, caller: Caller
) -> dict[str, Any]:
    """Execute a document and return the body of the response. Raise if the database or a disk is unavailable."""
    points = throttling.spend_points(1, app_id=caller.access.installation.app_id, shop=caller.shop)
    if not points.admitted:
        return {"errors": format_errors([graphql_error("Throttled", THROTTLED)])}
    result = _execute(query, variables, operation, caller)
    for error in result.errors or ():
        defect = get_unexpected_error(error)
        if defect is not None and _is_for_rest(defect):
            raise defect
    body: dict[str, Any] = {}
    if result.errors:
        body["errors"] = format_errors(result.errors)
    if result.data is not None or not result.errors:
        body["data"] = result.data
    return {**body, "extensions": result.extensions or {}}


def _is_for_rest(defect: Exception) -> bool:
    """Return True for errors that the REST API reports with an HTTP status: outages, and access that has ended."""
    return is_transient_db_error(defect) or is_disk_full(defect) or isinstance(defect, AccessEnded)


def _execute(query: str, variables: dict[str, Any] | None, operation: str | None, caller: Caller) -> ExecutionResult:
    try:
        return get_schema(caller.version).execute_sync(query, variables, context_value=caller, operation_name=operation)
    except (CannotGetOperationTypeError, InvalidOperationTypeError):
        message = f'Unknown operation named "{operation}".' if operation else "Must provide an operation."
        return ExecutionResult(None, [GraphQLError(message)])
