"""Requests of routes with small bodies: the sample requests of the tests."""

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from benchmarks.bodies.runner import ROOT, Bench
from benchmarks.bodies.shop_data import BenchRows

if TYPE_CHECKING:
    from tests.samples import Sample


def list_small_routes(bench: Bench) -> list[str]:
    """Return the writing routes that have no request of their own, in the order of the samples."""
    from tests.samples import load_all_samples

    missing = set(bench.missing())
    return [route for route in load_all_samples() if route in missing]


def send_samples(bench: Bench, goods: BenchRows, routes: list[str]) -> None:
    """Send the sample request of each route."""
    from django.db import transaction

    from tests.samples import SAMPLES

    for route in routes:
        with transaction.atomic():
            _send_sample(bench, goods, route, SAMPLES[route])
            # A sample expects the shop without the changes of other samples.
            transaction.set_rollback(True)


def _send_sample(bench: Bench, goods: BenchRows, route: str, sample: "Sample") -> None:
    from apps.core.tenancy.models import Installation
    from apps.core.tenancy.scope import shop_scope
    from tests.samples import SampleContext

    with shop_scope(goods.shop):
        installation = Installation.objects.select_related("app", "shop").get(app__name="Bench")
        arguments = sample.arrange(SampleContext(goods.shop, installation))
    path = sample.path(arguments).removeprefix(f"{ROOT}/")
    if query := sample.query_for(arguments):
        path = f"{path}?{urlencode(query)}"
    bench.send(route.removesuffix(".json"), sample.method.upper(), path, sample.body_for(arguments))
