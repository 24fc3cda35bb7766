from typing import Any, TypeAlias

# A decoded JSON value, such as the body of a response. Tests read it by keys and indexes without narrowing its type.
Json: TypeAlias = Any
JsonObject: TypeAlias = dict[str, Json]
