import threading
from collections.abc import Hashable
from dataclasses import dataclass

import pytest
from django.test import Client

from apps.core.rest.requests.authentication import get_token_header_key
from apps.core.tenancy.models import Shop
from backoffice.server.fair_queue import FairQueue
from backoffice.server.wsgi import Environ
from backoffice.server_hooks import BackofficeHooks
from tests.support import factories
from tests.support.api_client import ApiClient


@dataclass(frozen=True)
class Request:
    owner: Hashable
    number: int = 0


def make_queue(threads: int, *names: str | None, places: int = 100) -> FairQueue[Request]:
    queue: FairQueue[Request] = FairQueue(threads, places)
    for number, name in enumerate(names):
        assert queue.takes(name)
        queue.put(Request(name, number))
    return queue


def take_requests(queue: FairQueue[Request], count: int, *, then_done: bool = True) -> list[Hashable]:
    requests = []
    for _ in range(count):
        item = queue.get()
        assert item is not None
        requests.append(item.owner)
        if then_done:
            queue.done(item)
    return requests


def finish(queue: FairQueue[Request], requests: list[Request | None]) -> None:
    for item in requests:
        if item is not None:
            queue.done(item)


def test_a_later_caller_does_not_wait_for_all_requests_of_another() -> None:
    queue = make_queue(4, *["many"] * 20, "few", "one")

    assert take_requests(queue, 5) == ["many", "few", "one", "many", "many"]


def test_requests_of_one_go_in_their_order() -> None:
    queue = make_queue(4, "a", "b", "a", "a")

    assert [item.number for item in (queue.get() for _ in range(4)) if item] == [0, 1, 2, 3]


def test_the_caller_with_the_fewest_running_requests_is_next() -> None:
    queue = make_queue(4, "slow", "slow", "slow", "quick", "quick", "quick")
    assert take_requests(queue, 2, then_done=False) == ["slow", "quick"]
    queue.done(Request("quick"))

    assert take_requests(queue, 2) == ["quick", "quick"]


def test_a_thread_is_reserved_for_others_while_several_callers_are_active() -> None:
    queue = make_queue(4, "slow", "other", *["slow"] * 9)
    take_requests(queue, 2, then_done=False)
    queue.done(Request("other"))
    assert take_requests(queue, 2, then_done=False) == ["slow", "slow"]
    rejected: list[Request | None] = []
    fourth = threading.Thread(target=lambda: rejected.append(queue.get()))
    fourth.start()
    fourth.join(0.2)
    assert fourth.is_alive(), "three of the four threads are all that one may have"

    queue.put(Request("other"))
    fourth.join(5)

    assert [item.owner for item in rejected if item] == ["other"]


def test_requests_waiting_for_their_share_continue_when_another_ends() -> None:
    queue = make_queue(4, "other", *["slow"] * 5)
    requests = [queue.get() for _ in range(4)]
    taken: list[Request | None] = []
    waiting = threading.Thread(target=lambda: taken.extend([queue.get(), queue.get()]))
    waiting.start()
    waiting.join(0.2)
    assert taken == []

    finish(queue, requests)
    waiting.join(5)

    assert [item.owner for item in taken if item] == ["slow", "slow"]


def test_a_single_caller_has_every_thread_and_place() -> None:
    queue = make_queue(4, *["one"] * 8, places=8)

    assert take_requests(queue, 4, then_done=False) == ["one"] * 4
    assert queue.takes("one")


def test_requests_without_a_caller_share_one_queue() -> None:
    queue = make_queue(4, "one", "one", "one", "one", places=8)
    for number in range(2):
        assert queue.takes(None)
        queue.put(Request(None, number))

    assert take_requests(queue, 6) == ["one", None, "one", None, "one", "one"]
    assert take_requests(make_queue(4, *["one"] * 4, None, places=8), 4, then_done=False) == ["one", None, "one", "one"]


def test_one_of_several_callers_has_half_of_the_places() -> None:
    queue = make_queue(4, "other", *["many"] * 4, places=8)

    assert not queue.takes("many")
    assert queue.takes("third")


@pytest.mark.parametrize("threads", [1, 2])
def test_a_few_threads_serve_all_callers(threads: int) -> None:
    assert sorted(map(str, take_requests(make_queue(threads, "a", "a", "b", "c", "b"), 5))) == ["a", "a", "b", "b", "c"]


def test_requests_waiting_for_their_share_are_finished_at_the_end() -> None:
    queue = make_queue(4, "other", *["slow"] * 5)
    requests = [queue.get() for _ in range(4)]
    waiting = threading.Thread(target=queue.get)
    waiting.start()
    waiting.join(0.2)

    queue.end(4)
    waiting.join(5)
    finish(queue, requests)

    assert take_requests(queue, 1) == ["slow"]
    assert [queue.get() for _ in range(4)] == [None] * 4


def test_the_end_comes_behind_what_waits() -> None:
    queue = make_queue(2, "a", "b")
    queue.end(2)

    assert take_requests(queue, 2) == ["a", "b"]
    assert (queue.get(), queue.get()) == (None, None)


def build_environ(path: str, **values: str) -> Environ:
    return {"PATH_INFO": path, "HTTP_HOST": "127.0.0.1:8000", **values}


def build_environ_with_token(token: str) -> Environ:
    return build_environ("/admin/api/2026-10/shop.json", **{get_token_header_key(): token})


@pytest.fixture
def hooks() -> BackofficeHooks:
    return BackofficeHooks()


def test_tokens_of_a_shop_are_one_once_they_were_seen(shop: Shop, other_shop: Shop, hooks: BackofficeHooks) -> None:
    installations = [factories.make_installation(item) for item in (shop, shop, other_shop)]
    requests = [build_environ_with_token(factories.make_token(item)) for item in installations]
    assert len({hooks.owner(item) for item in requests}) == 3

    for item, installation in zip(requests, installations, strict=True):
        client = ApiClient(item[get_token_header_key()], installation)
        answered = client.get("shop.json")
        hooks.answered({**item, **answered.wsgi_request.META})

    first, second, third = (hooks.owner(item) for item in requests)
    assert first == second != third


def test_pages_of_a_shops_panel_belong_with_its_apps(shop: Shop, hooks: BackofficeHooks, client: Client) -> None:
    client.force_login(factories.make_member(shop, owner=True))
    page = build_environ(f"/s/{shop.handle}/admin/")
    answered = client.get(page["PATH_INFO"])
    installation = factories.make_installation(shop)
    token = build_environ_with_token(factories.make_token(installation))
    api = ApiClient(token[get_token_header_key()], installation).get("shop.json")

    hooks.answered({**answered.wsgi_request.META, **page})
    hooks.answered({**token, **api.wsgi_request.META})

    assert hooks.owner(page) == hooks.owner(token) == ("shop", shop.pk)


def test_requests_without_a_shop_have_no_caller(hooks: BackofficeHooks) -> None:
    assert {hooks.owner(build_environ(path)) for path in ("/", "/accounts/login/", "/readyz")} == {None}


def test_callers_without_a_shop_are_not_remembered(hooks: BackofficeHooks) -> None:
    before = hooks.owner(build_environ_with_token("nobody"))

    hooks.answered(build_environ_with_token("nobody"))

    assert hooks.owner(build_environ_with_token("nobody")) == before
