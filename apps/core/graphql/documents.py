"""Parse and validate documents within limits, and cache the results for short documents.

Validation takes milliseconds per thousand tokens, but some rules compare all fields with the same name. Therefore the
limits apply before the validation, and ``CostLimiter`` charges the tokens of a document before its validation.
"""

from collections.abc import Iterator
from functools import lru_cache

from graphql import DocumentNode, FieldNode, GraphQLError, GraphQLSchema, parse, specified_rules
from graphql.language import Visitor, VisitorAction, visit
from graphql.validation.rules import overlapping_fields_can_be_merged
from graphql.validation.validate import ValidationAbortedError
from strawberry.extensions import SchemaExtension
from strawberry.schema.schema import validate_document

from apps.core.graphql.errors import MAX_COST_EXCEEDED, graphql_error

MAX_LENGTH = 200_000
MAX_TOKENS = 5_000
MAX_FIELDS = 2_000
MAX_ALIASES = 250
# The syntax trees of 64 documents with this length need at most about 50 MB.
MAX_CACHED_LENGTH = 4_000
MAX_CACHED_DOCUMENTS = 64
# Comparing two fields costs 2. The library's default allows half a million, which takes seconds.
overlapping_fields_can_be_merged.MAX_COMPLEXITY_BUDGET = 10_000


class DocumentValidator(SchemaExtension):
    """Parses and validates the document instead of Strawberry."""

    def on_parse(self) -> Iterator[None]:
        context = self.execution_context
        context.graphql_document = parse_document(context.query or "")
        yield

    def on_validate(self) -> Iterator[None]:
        context = self.execution_context
        if context.pre_execution_errors is None:
            assert context.graphql_document is not None
            is_cached = len(context.query or "") <= MAX_CACHED_LENGTH
            validate = _validate_and_cache if is_cached else _validate
            context.pre_execution_errors = validate(context.schema._schema, context.graphql_document)
        yield


def parse_document(text: str) -> DocumentNode:
    """Return the syntax tree. Raise ``GraphQLError`` if the document is invalid or too large."""
    return _parse_and_cache(text) if len(text) <= MAX_CACHED_LENGTH else _parse(text)


def _parse(text: str) -> DocumentNode:
    if len(text) > MAX_LENGTH:
        raise _too_large(f"The document is too long (maximum is {MAX_LENGTH} characters)")
    document = parse(text, max_tokens=MAX_TOKENS)
    counter = _FieldCounter()
    visit(document, counter)
    if counter.fields > MAX_FIELDS:
        raise _too_large(f"The query asks for too many fields (maximum is {MAX_FIELDS})")
    if counter.aliases > MAX_ALIASES:
        raise _too_large(f"The query has too many aliases (maximum is {MAX_ALIASES})")
    return document


def _validate(schema: GraphQLSchema, document: DocumentNode) -> list[GraphQLError]:
    return [
        _too_large("The query is too complex. Repeat fewer fields and fragments.") if _is_aborted(error) else error
        for error in validate_document(schema, document, specified_rules)
    ]


def _is_aborted(error: GraphQLError) -> bool:
    """Return True if the validation was aborted because of the document's complexity, not because of many errors."""
    return isinstance(error, ValidationAbortedError) and error.message == "Validation aborted."


def _too_large(message: str) -> GraphQLError:
    return graphql_error(message, MAX_COST_EXCEEDED)


_parse_and_cache = lru_cache(MAX_CACHED_DOCUMENTS)(_parse)
_validate_and_cache = lru_cache(MAX_CACHED_DOCUMENTS)(_validate)


class _FieldCounter(Visitor):
    """Counts the fields and aliases of a syntax tree."""

    fields = aliases = 0

    def enter_field(self, node: FieldNode, *_: object) -> VisitorAction:
        self.fields += 1
        self.aliases += node.alias is not None
        return None
