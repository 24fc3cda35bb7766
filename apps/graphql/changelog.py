"""List the parts of a version's GraphQL schema for the API changelog."""

from collections.abc import Iterator

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

from apps.api.openapi.changelog import Feature, Features
from apps.graphql.schemas import get_schema


def list_schema_features(version: str) -> Features:
    """Return the types, fields, arguments and values of a version's schema."""
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
