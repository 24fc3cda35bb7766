"""The gate before a database file: writers of all processes pass it one by one, first come first served.

SQLite's own wait is no queue. Who finds the file locked sleeps, for longer each time, and who happens to come when it
is free goes first: among many writers most are quick and some wait for seconds. At the gate everybody has a place.

The queue is made of locks of the kernel on bytes of a file that stays empty. Who comes takes a stamp from the clock
that all processes share, locks the byte of that number, and has the turn once all bytes up to its own are its own: then
nobody who came before waits or writes. So nothing has to be kept or mended, and a process that is killed holds nobody
up.

A lock wakes nobody who also watches the time. So who leaves looks up who is next, whose stamp is its address too, and
rings; whoever waits looks by itself as well, every ``LOOK_SECONDS``, for those that died and could not ring.

The gate makes writers fair and nothing else: what keeps them apart is SQLite's lock. Without it (no such locks here, a
folder that cannot be written) all are served as SQLite serves them.
"""

import contextlib
import fcntl
import logging
import os
import socket
import struct
import sys
import time
import weakref
from pathlib import Path
from typing import Self

LOOK_SECONDS = 0.01
# ``struct flock`` of 64-bit Linux: type, whence, start, length, process.
_FLOCK = struct.Struct("hhqqi4x")
_SUPPORTED = sys.platform == "linux" and sys.maxsize > 2**32

logger = logging.getLogger(__name__)
_open: "weakref.WeakSet[Gate]" = weakref.WeakSet()
_unusable: set[str] = set()


class Gate:
    """One connection's way through the gate; it holds a turn from ``enter`` or ``wait`` until it leaves or is gone."""

    def __init__(self, path: str, fd: int) -> None:
        """Keep an open file of its own: two that share one would count as one writer."""
        self._path, self._fd, self._held = path, fd, False
        status = os.fstat(fd)
        self._name = f"\0backoffice-gate-{status.st_dev:x}-{status.st_ino:x}-"
        self._finalizer = weakref.finalize(self, os.close, fd)
        _open.add(self)

    @classmethod
    def before(cls, database: str) -> "Self | None":
        """The gate before a database file; None where there cannot be one, which is logged once."""
        path = f"{os.path.realpath(database)}-gate"
        try:
            if _SUPPORTED:
                return cls(path, _opened(path, database))
            reason: object = "it takes the locks of 64-bit Linux"
        except OSError as error:
            reason = error
        if path not in _unusable:
            _unusable.add(path)
            logger.warning("Writers do not queue before %s (%s): beside many, some wait long.", database, reason)
        return None

    def enter(self) -> bool:
        """Take a turn, where nobody has one or waits."""
        self._held = self._held or self._lock(0, time.monotonic_ns() + 1)
        return self._held

    def wait(self, seconds: float) -> bool:
        """Queue for a turn; whether it came in time."""
        deadline = time.monotonic() + seconds
        while not self._lock(stamp := time.monotonic_ns(), 1):
            # Somebody who came after this clock was read has the turn already.
            continue
        try:
            with self._bell(stamp) as bell:
                while not self._lock(0, stamp + 1):
                    if (left := deadline - time.monotonic()) <= 0:
                        return False
                    bell.settimeout(min(left, LOOK_SECONDS))
                    with contextlib.suppress(TimeoutError):
                        bell.recv(1)
            self._held = True
            return True
        finally:
            if not self._held:
                # Somebody may have rung here.
                self._give_up()

    def leave(self) -> None:
        """Give the turn up, to who is next; nothing happens where none is held."""
        if self._held:
            self._held = False
            self._give_up()

    def close(self) -> None:
        """Give the turn up for good."""
        self.leave()
        self._finalizer()

    def forget(self) -> None:
        """In a forked process: the turn and the file are the parent's."""
        self._held = False
        self._finalizer()

    @property
    def is_open(self) -> bool:
        """Whether it can still be passed; not after ``close``, nor in a process forked from the one that opened it."""
        return self._finalizer.alive

    def _give_up(self) -> None:
        self._set(fcntl.F_UNLCK, 0, 0)
        # Where ringing fails, who is next finds out by looking; what was written is written.
        with contextlib.suppress(OSError):
            if (stamp := self._next()) > 0:
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ringing:
                    ringing.setblocking(False)
                    ringing.sendto(b"!", f"{self._name}{stamp}")

    def _next(self) -> int:
        """The stamp of who is next; 0 where somebody has the turn, or nobody waits."""
        found, end = 0, 0
        while True:
            asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, end, 0)
            kind, _, start, *_ = _FLOCK.unpack(fcntl.fcntl(self._fd, fcntl.F_OFD_GETLK, asked))
            if kind == fcntl.F_UNLCK:
                return found
            if start == 0:
                return 0
            # The kernel names any of them; there may be an earlier one.
            found = end = start

    def _bell(self, stamp: int) -> socket.socket:
        """Where others ring for this stamp; where that fails nobody can, and looking has to do."""
        bell = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with contextlib.suppress(OSError):
            bell.bind(f"{self._name}{stamp}")
        return bell

    def _lock(self, start: int, length: int) -> bool:
        try:
            self._set(fcntl.F_WRLCK, start, length)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _set(self, kind: int, start: int, length: int) -> None:
        fcntl.fcntl(self._fd, fcntl.F_OFD_SETLK, _FLOCK.pack(kind, os.SEEK_SET, start, length, 0))


def _opened(path: str, database: str) -> int:
    """The gate's file, with the rights and, where we may give it away, the owner of the database's, as SQLite does."""
    status = Path(database).stat()
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    os.fchmod(fd, status.st_mode & 0o777)
    if os.geteuid() == 0:
        os.fchown(fd, status.st_uid, status.st_gid)
    return fd


def _forget_all() -> None:
    for gate in list(_open):
        gate.forget()


os.register_at_fork(after_in_child=_forget_all)
