from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self


class Subtests:
    """Collects the failures of several blocks and reports all failures at the end.

    >>> with Subtests() as subtest:
    ...     for value in VALUES:
    ...         with subtest(value):
    ...             assert …
    """

    def __init__(self) -> None:
        self.tried = 0
        self._failed: list[tuple[str, Exception]] = []

    @contextmanager
    def __call__(self, *value: object) -> Iterator[None]:
        self.tried += 1
        try:
            yield
        except Exception as error:
            self._failed.append((", ".join(f"{part!s:.100}" for part in value), error))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None:
            return
        assert self.tried, "nothing was tried"
        if self._failed:
            lines = [f"{value}: {type(failure).__name__}: {failure!s:.500}" for value, failure in self._failed]
            message = "\n".join([f"{len(lines)} of {self.tried} values fail:", *lines])
            raise AssertionError(message) from self._failed[0][1]
