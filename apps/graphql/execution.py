"""Answering one document by the schema of its version."""

from typing import Any

from graphql import GraphQLError
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError
from strawberry.types.execution import ExecutionResult

from apps.api.requests import throttling
from apps.graphql.caller import Caller
from apps.graphql.errors import THROTTLED, defect_of, refusal, shown
from apps.graphql.schemas import schema_of
from apps.ground.outages import is_full, is_outage


def answer(query: str, variables: dict[str, Any] | None, operation: str | None, caller: Caller) -> dict[str, Any]:
    """The body of the answer.

    Raises:
        Exception: The database or a disk does not serve for the moment; nothing was changed.
    """
    points = throttling.spend(1, app_id=caller.access.installation.app_id, shop=caller.shop)
    if not points.admitted:
        return {"errors": shown([refusal("Throttled", THROTTLED)])}
    result = _execute(query, variables, operation, caller)
    for error in result.errors or ():
        defect = defect_of(error)
        if defect is not None and (is_outage(defect) or is_full(defect)):
            raise defect
    body: dict[str, Any] = {}
    if result.errors:
        body["errors"] = shown(result.errors)
    if result.data is not None or not result.errors:
        body["data"] = result.data
    return {**body, "extensions": result.extensions or {}}


def _execute(query: str, variables: dict[str, Any] | None, operation: str | None, caller: Caller) -> ExecutionResult:
    try:
        return schema_of(caller.version).execute_sync(query, variables, context_value=caller, operation_name=operation)
    except (CannotGetOperationTypeError, InvalidOperationTypeError):
        named = f'Unknown operation named "{operation}".' if operation else "Must provide an operation."
        return ExecutionResult(None, [GraphQLError(named)])
