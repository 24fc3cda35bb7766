"""Root fields that every schema has: nodes by global id and the list of API versions."""

import strawberry
from django.conf import settings

from apps.api.versions import UNSTABLE, get_served_versions
from apps.graphql import registry
from apps.graphql.errors import graphql_error
from apps.graphql.ids import Node, parse_global_id
from apps.graphql.info import Info

MAX_NODES = 250


@strawberry.type(description="A version of the API.")
class ApiVersion:
    """A version of the API."""

    handle: str
    display_name: str
    supported: bool


def build_api_version(version: str) -> ApiVersion:
    """Build the GraphQL object of a version."""
    labels = {settings.API_VERSIONS[-1]: f"{version} (Latest)", UNSTABLE: UNSTABLE}
    return ApiVersion(handle=version, display_name=labels.get(version, version), supported=version != UNSTABLE)


@strawberry.type
class RootFields:
    """Root query fields that every schema has."""

    @strawberry.field(description="Return an object by its global id.")
    def node(self, info: Info, id: strawberry.ID) -> Node | None:
        """Return one object, or null if this shop does not have it."""
        return _find_node(info, id)

    @strawberry.field(description="Return several objects by their global ids, in order.")
    def nodes(self, info: Info, ids: list[strawberry.ID]) -> list[Node | None]:
        """Return several objects, with null for each missing object."""
        if len(ids) > MAX_NODES:
            raise graphql_error(
                f"The input array size of {len(ids)} is greater than the maximum allowed of {MAX_NODES}."
            )
        return [_find_node(info, outside_id) for outside_id in ids]

    @strawberry.field(description="All served versions of the API.")
    def public_api_versions(self) -> list[ApiVersion]:
        """Return the versions, oldest first."""
        return [build_api_version(version) for version in get_served_versions()]


def _find_node(info: Info, text: str) -> Node | None:
    parsed = parse_global_id(text)
    if parsed is None:
        raise graphql_error(f"Invalid global id '{text[:100]}'", "argumentLiteralsIncompatible")
    kind, number = parsed
    find = registry.nodes.get(kind)
    return None if find is None else find(info, number)  # type: ignore[return-value]
