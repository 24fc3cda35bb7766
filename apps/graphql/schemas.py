"""The schema of each API version, made once per process when it is first asked for."""

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
from apps.graphql.limits import Limits
from apps.graphql.scalars import SCALARS


class VersionSchema(strawberry.Schema):
    """The schema of one version: what other versions have is not in it."""

    def __init__(self, version: str) -> None:
        """Put together what the apps registered."""
        self._version = version
        super().__init__(
            query=merge_types("QueryRoot", (root.Nodes, *registry.queries)),
            mutation=merge_types("Mutation", tuple(registry.mutations)),
            types=registry.types,
            extensions=[Limits],
            config=StrawberryConfig(scalar_map=SCALARS),
        )

    def get_fields(self, type_definition: StrawberryObjectDefinition) -> list[StrawberryField]:
        """The fields of a type that the version has, with the arguments that it has."""
        fields = [each for each in type_definition.fields if registry.is_in(each.metadata, self._version)]
        return [self._as_here(each) for each in fields]

    def process_errors(self, errors: Any, execution_context: Any = None) -> None:
        """Refusals are answers; what broke is logged where it is answered."""

    def _as_here(self, field: StrawberryField) -> StrawberryField:
        """A field with the arguments and deprecations of the version."""
        here = field.__copy__()
        here.deprecation_reason = registry.deprecation_in(field.metadata, self._version) or field.deprecation_reason
        here.arguments = [
            self._argument(each) for each in field.arguments if registry.is_in(each.metadata, self._version)
        ]
        return here

    def _argument(self, argument: StrawberryArgument) -> StrawberryArgument:
        reason = registry.deprecation_in(argument.metadata, self._version)
        if reason is None:
            return argument
        here = copy(argument)
        here.deprecation_reason = reason
        return here


@lru_cache(maxsize=16)
def schema_of(version: str) -> VersionSchema:
    """The schema of a version."""
    autodiscover_modules("graphql")
    return VersionSchema(version)
