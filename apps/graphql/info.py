"""What strawberry hands to a resolver beside its arguments; ``info.context`` is the caller."""

import strawberry

from apps.graphql.caller import Caller

Info = strawberry.Info[Caller, None]
