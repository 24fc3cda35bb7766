"""Tell the processes of a Celery worker that the worker is shutting down.

Celery waits for running tasks and does not inform them. Long tasks check the flag to end early. The flag is in memory
that the worker shares with the processes it forks, so import this module before the fork.
"""

import mmap

_flag = mmap.mmap(-1, 1)


def announce_shutdown(**_signal: object) -> None:
    _flag[0] = 1


def is_shutting_down() -> bool:
    return _flag[0] == 1
