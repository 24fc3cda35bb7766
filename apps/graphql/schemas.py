"""GraphQL schemas of the API versions. Each process builds a schema once, on first use."""

from copy import copy
from functools import lru_cache
from typing import Any

import strawberry
from django.utils.module_loading import autodiscover_modules
from strawberry.schema.config import StrawberryConfig
from strawberry.tools import merge_types
from strawberry.types.arguments import StrawberryArgument
from strawberry.types.base import StrawberryObjectDefinition
from strawberry.types.field import StrawberryField

from apps.graphql import registry, root
from apps.graphql.limits import LimitsExtension
from apps.graphql.scalars import SCALARS


class VersionSchema(strawberry.Schema):
    """The schema of one version, without fields of other versions."""

    def __init__(self, version: str) -> None:
        """Build the schema from the registered fields."""
        self._version = version
        super().__init__(
            query=merge_types("QueryRoot", (root.RootFields, *registry.queries)),
            mutation=merge_types("Mutation", tuple(registry.mutations)),
            types=registry.types,
            extensions=[LimitsExtension],
            config=StrawberryConfig(scalar_map=SCALARS),
        )

    def get_fields(self, type_definition: StrawberryObjectDefinition) -> list[StrawberryField]:
        """Return the fields that a type has in this version, with the arguments of this version."""
        fields = [field for field in type_definition.fields if registry.is_in_version(field.metadata, self._version)]
        return [self._adapt_field(field) for field in fields]

    def process_errors(self, errors: Any, execution_context: Any = None) -> None:
        """Do not log errors, because ``apps.graphql.errors`` logs unexpected exceptions."""

    def _adapt_field(self, field: StrawberryField) -> StrawberryField:
        """Return a copy of a field with this version's arguments and deprecations."""
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
    """Return the schema of a version."""
    autodiscover_modules("graphql")
    return VersionSchema(version)
