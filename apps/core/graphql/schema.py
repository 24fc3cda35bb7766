"""Build the GraphQL schema of an API version, and list its features for the API changelog."""

from collections.abc import Iterator
from copy import copy
from functools import lru_cache
from typing import Any

import strawberry
from django.conf import settings
from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLEnumValue,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLUnionType,
)
from strawberry.schema.config import StrawberryConfig
from strawberry.tools import merge_types
from strawberry.types.arguments import StrawberryArgument
from strawberry.types.base import StrawberryObjectDefinition
from strawberry.types.field import StrawberryField

from apps.core.graphql import registry
from apps.core.graphql.errors import graphql_error
from apps.core.graphql.limits import LIMITS
from apps.core.graphql.types import SCALARS, Info, Node, parse_global_id
from apps.core.registry import autodiscover
from apps.core.rest.openapi.changelog import Feature, Features
from apps.core.rest.versions import UNSTABLE, get_served_versions

MAX_NODES = 250


@strawberry.type(description="A version of the API.")
class ApiVersion:
    handle: str
    display_name: str
    supported: bool


def build_api_version(version: str) -> ApiVersion:
    labels = {settings.API_VERSIONS[-1]: f"{version} (Latest)", UNSTABLE: UNSTABLE}
    return ApiVersion(handle=version, display_name=labels.get(version, version), supported=version != UNSTABLE)


@strawberry.type
class RootFields:
    """Root query fields that every schema has."""

    @strawberry.field(description="Return an object by its global id.")
    def node(self, info: Info, id: strawberry.ID) -> Node | None:
        return _find_node(info, id)

    @strawberry.field(description="Return several objects by their global ids, in order.")
    def nodes(self, info: Info, ids: list[strawberry.ID]) -> list[Node | None]:
        if len(ids) > MAX_NODES:
            raise graphql_error(
                f"The input array size of {len(ids)} is greater than the maximum allowed of {MAX_NODES}."
            )
        return [_find_node(info, outside_id) for outside_id in ids]

    @strawberry.field(description="All served versions of the API.")
    def public_api_versions(self) -> list[ApiVersion]:
        return [build_api_version(version) for version in get_served_versions()]


def _find_node(info: Info, text: str) -> Node | None:
    parsed = parse_global_id(text)
    if parsed is None:
        raise graphql_error(f"Invalid global id '{text[:100]}'", "argumentLiteralsIncompatible")
    kind, number = parsed
    node = registry.nodes.get(kind)
    return None if node is None else node.find(info, number)  # type: ignore[return-value]


class VersionSchema(strawberry.Schema):
    """The schema of one version, without fields of other versions."""

    def __init__(self, version: str) -> None:
        self._version = version
        super().__init__(
            query=merge_types("QueryRoot", (RootFields, *registry.queries.values())),
            mutation=merge_types("Mutation", tuple(registry.mutations.values())),
            types=[node.type for node in registry.nodes.values()],
            extensions=LIMITS,
            config=StrawberryConfig(scalar_map=SCALARS),
        )

    def get_fields(self, type_definition: StrawberryObjectDefinition) -> list[StrawberryField]:
        """Return the fields that a type has in this version, with the arguments of this version."""
        fields = [field for field in type_definition.fields if registry.is_in_version(field.metadata, self._version)]
        return [self._adapt_field(field) for field in fields]

    def process_errors(self, errors: Any, execution_context: Any = None) -> None:
        """Do not log errors, because ``apps.core.graphql.errors`` logs unexpected exceptions."""

    def _adapt_field(self, field: StrawberryField) -> StrawberryField:
        versioned = field.__copy__()
        versioned.deprecation_reason = (
            registry.get_deprecation_reason(field.metadata, self._version) or field.deprecation_reason
        )
        versioned.arguments = [
            self._adapt_argument(argument)
            for argument in field.arguments
            if registry.is_in_version(argument.metadata, self._version)
        ]
        return versioned

    def _adapt_argument(self, argument: StrawberryArgument) -> StrawberryArgument:
        reason = registry.get_deprecation_reason(argument.metadata, self._version)
        if reason is None:
            return argument
        versioned = copy(argument)
        versioned.deprecation_reason = reason
        return versioned


@lru_cache(maxsize=16)
def get_schema(version: str) -> VersionSchema:
    autodiscover("graphql")
    return VersionSchema(version)


def list_schema_features(version: str) -> Features:
    types = get_schema(version)._schema.type_map.values()
    return dict(entry for kind in types if not kind.name.startswith("__") for entry in _list_type(kind))


def _list_type(kind: GraphQLNamedType) -> Iterator[tuple[str, Feature]]:
    own = f"GraphQL {kind.name}"
    members = sorted(member.name for member in kind.types) if isinstance(kind, GraphQLUnionType) else ()
    yield own, Feature(f"GraphQL type `{kind.name}`", "", " | ".join(members), description=_join(kind.description))
    if isinstance(kind, GraphQLEnumType):
        for name, value in kind.values.items():
            yield f"{own}.{name}", _describe_part(f"value `{kind.name}.{name}`", own, "", value)
    if isinstance(kind, GraphQLObjectType | GraphQLInterfaceType | GraphQLInputObjectType):
        for name, field in kind.fields.items():
            key = f"{own}.{name}"
            yield key, _describe_part(f"field `{kind.name}.{name}`", own, str(field.type), field)
            for argument_name, argument in getattr(field, "args", {}).items():
                label = f"argument `{argument_name}` of `{kind.name}.{name}`"
                yield f"{key}({argument_name})", _describe_part(label, key, str(argument.type), argument)


def _describe_part(
    label: str, parent: str, signature: str, part: GraphQLField | GraphQLInputField | GraphQLArgument | GraphQLEnumValue
) -> Feature:
    return Feature(
        f"GraphQL {label}",
        parent,
        signature,
        deprecated=part.deprecation_reason or "",
        description=_join(part.description),
    )


def _join(description: str | None) -> str:
    """Return a description as one line."""
    return " ".join((description or "").split())
