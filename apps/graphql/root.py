"""The fields that find anything by its global id, and the list of versions."""

import strawberry
from django.conf import settings

from apps.api.versions import UNSTABLE, served_versions
from apps.graphql import registry
from apps.graphql.errors import refusal
from apps.graphql.ids import Node, read_id
from apps.graphql.info import Info

MAX_NODES = 250


@strawberry.type(description="A version of the interface.")
class ApiVersion:
    """A version of the interface."""

    handle: str
    display_name: str
    supported: bool


def api_version(version: str) -> ApiVersion:
    """A version as GraphQL shows it."""
    labels = {settings.API_VERSIONS[-1]: f"{version} (Latest)", UNSTABLE: UNSTABLE}
    return ApiVersion(handle=version, display_name=labels.get(version, version), supported=version != UNSTABLE)


@strawberry.type
class Nodes:
    """What every schema has."""

    @strawberry.field(description="What has a global id.")
    def node(self, info: Info, id: strawberry.ID) -> Node | None:
        """One object; null where there is none in this shop."""
        return _find(info, id)

    @strawberry.field(description="Several objects by their global ids, in their order.")
    def nodes(self, info: Info, ids: list[strawberry.ID]) -> list[Node | None]:
        """Several objects; null in place of those that are not there."""
        if len(ids) > MAX_NODES:
            raise refusal(f"The input array size of {len(ids)} is greater than the maximum allowed of {MAX_NODES}.")
        return [_find(info, each) for each in ids]

    @strawberry.field(description="Every version of the interface that is served.")
    def public_api_versions(self) -> list[ApiVersion]:
        """The versions, oldest first."""
        return [api_version(version) for version in served_versions()]


def _find(info: Info, text: str) -> Node | None:
    found = read_id(text)
    if found is None:
        raise refusal(f"Invalid global id '{text[:100]}'", "argumentLiteralsIncompatible")
    kind, number = found
    find = registry.nodes.get(kind)
    return None if find is None else find(info, number)  # type: ignore[return-value]
