"""Tests for the queue of requests that wait for a thread, which is fair to all callers."""

import threading
from collections.abc import Hashable
from dataclasses import dataclass

import pytest

from backoffice.server.turns import FairQueue


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


def test_a_later_caller_does_not_wait_for_all_requests_of_another() -> None:
    queue = make_queue(4, *["many"] * 20, "few", "one")

    assert take_requests(queue, 5) == ["many", "few", "one", "many", "many"]


def test_requests_of_one_go_in_their_order() -> None:
    queue = make_queue(4, "a", "b", "a", "a")

    first, second, third, fourth = (queue.get() for _ in range(4))

    assert [item.number for item in (first, second, third, fourth) if item] == [0, 1, 2, 3]


def test_who_has_the_fewest_in_work_is_next() -> None:
    queue = make_queue(4, "slow", "slow", "slow", "quick", "quick", "quick")
    assert take_requests(queue, 2, then_done=False) == ["slow", "quick"]
    queue.done(Request("quick"))

    assert take_requests(queue, 2) == ["quick", "quick"]


def test_while_several_come_a_thread_is_kept_for_the_others() -> None:
    queue = make_queue(4, "slow", "other", *["slow"] * 9)
    queue.done(Request("other")) if take_requests(queue, 2, then_done=False) else None
    assert take_requests(queue, 2, then_done=False) == ["slow", "slow"]
    rejected: list[Request | None] = []
    fourth = threading.Thread(target=lambda: rejected.append(queue.get()))
    fourth.start()
    fourth.join(0.2)
    assert fourth.is_alive(), "three of the four threads are all that one may have"

    queue.put(Request("other"))
    fourth.join(5)

    assert [item.owner for item in rejected if item] == ["other"]


def test_what_waited_for_its_share_goes_on_once_something_is_done() -> None:
    queue = make_queue(4, "other", *["slow"] * 5)
    requests = [queue.get() for _ in range(4)]
    rejected: list[Request | None] = []
    waiting = threading.Thread(target=lambda: rejected.extend([queue.get(), queue.get()]))
    waiting.start()
    waiting.join(0.2)
    assert rejected == []

    for item in requests:
        if item is not None:
            queue.done(item)
    waiting.join(5)

    assert [item.owner for item in rejected if item] == ["slow", "slow"]


def test_who_is_alone_has_every_thread_and_place() -> None:
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


def test_of_several_one_has_half_of_the_places() -> None:
    queue = make_queue(4, "other", *["many"] * 4, places=8)

    assert not queue.takes("many")
    assert queue.takes("third")


@pytest.mark.parametrize("threads", [1, 2])
def test_a_few_threads_serve_all_callers(threads: int) -> None:
    assert sorted(map(str, take_requests(make_queue(threads, "a", "a", "b", "c", "b"), 5))) == ["a", "a", "b", "b", "c"]


def test_at_the_end_what_waited_for_its_share_is_done_as_well() -> None:
    queue = make_queue(4, "other", *["slow"] * 5)
    requests = [queue.get() for _ in range(4)]
    waiting = threading.Thread(target=queue.get)
    waiting.start()
    waiting.join(0.2)

    queue.end(4)
    waiting.join(5)
    for item in requests:
        if item is not None:
            queue.done(item)

    assert take_requests(queue, 1) == ["slow"]
    assert [queue.get() for _ in range(4)] == [None] * 4


def test_the_end_comes_behind_what_waits() -> None:
    queue = make_queue(2, "a", "b")
    queue.end(2)

    assert take_requests(queue, 2) == ["a", "b"]
    assert (queue.get(), queue.get()) == (None, None)
