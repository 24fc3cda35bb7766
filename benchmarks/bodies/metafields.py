"""Requests to the metafield routes of every owner type."""

from benchmarks.bodies.runner import Bench
from benchmarks.scale import scale

# The maximum size of a ``json`` value in bytes.
LARGEST = scale(512 * 1024)


def send_metafields(bench: Bench, owners: dict[str, int], number: int) -> None:
    """Create, update and delete the largest metafield of each owner and of the shop."""
    for prefix in ["", *(f"{path}/{pk}/" for path, pk in owners.items())]:
        value = "[" + "1, " * (LARGEST // 3 - 10) + "1]"
        field = {"namespace": "largest", "key": f"round{number}", "type": "json", "value": value}
        path = f"{prefix}metafields"
        body = bench.send("POST metafields, 512 KB of JSON", "POST", f"{path}.json", {"metafield": field})["metafield"]
        other = {"metafield": {"value": value.replace("1]", "2]")}}
        bench.send("PUT metafields, 512 KB of JSON", "PUT", f"{path}/{body['id']}.json", other)
        bench.send("DELETE metafields", "DELETE", f"{path}/{body['id']}.json")
