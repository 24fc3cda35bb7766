"""The type of a resolver's ``info`` argument; ``info.context`` is the caller."""

import strawberry

from apps.graphql.caller import Caller

Info = strawberry.Info[Caller, None]
