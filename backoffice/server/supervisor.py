"""The supervisor, which forks web processes after loading the application, and replaces processes that end.

The supervisor owns the listening socket. Even if all processes are killed, clients wait for new processes and are not
rejected.
"""

import contextlib
import gc
import logging
import mmap
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType

from backoffice.server.door import Door
from backoffice.server.process import Process
from backoffice.server.threads import Application

logger = logging.getLogger("backoffice.server")

BACKLOG = 1024
# A process is killed and replaced if its event loop is blocked for this many seconds.
HUNG_SECONDS = 60.0
# If a process ends within this many seconds of its start, it is replaced after a delay.
QUICK_SECONDS = 1.0
STOP_SECONDS = 30.0

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
_BEAT = struct.Struct("d")


class Board:
    """Shared memory with the time of each process's last heartbeat, in seconds of the monotonic clock."""

    def __init__(self, places: int) -> None:
        self.places = places
        self._memory = mmap.mmap(-1, places * _BEAT.size)

    def beat(self, slot: int) -> None:
        """Record a heartbeat of a process."""
        _BEAT.pack_into(self._memory, slot * _BEAT.size, time.monotonic())

    def clear(self, slot: int) -> None:
        """Delete the heartbeat of a process that has ended."""
        _BEAT.pack_into(self._memory, slot * _BEAT.size, 0.0)

    def age(self, slot: int) -> float | None:
        """Return the seconds since the last heartbeat of a process, or None before its first heartbeat."""
        (at,) = _BEAT.unpack_from(self._memory, slot * _BEAT.size)
        return time.monotonic() - at if at else None

    def serving(self) -> int:
        """Return the number of processes with a recent heartbeat."""
        ages = [self.age(slot) for slot in range(self.places)]
        return sum(age is not None and age < 5 for age in ages)


# The board that this process shares with the other processes of the server, or None outside a server.
board: Board | None = None


@dataclass
class _Child:
    pid: int
    place: int
    started: float


def run_server(
    load: Callable[[], tuple[Application, Door]], *, host: str, port: int, processes: int, threads: int
) -> None:
    """Serve an application until SIGTERM or SIGINT, and then finish accepted requests.

    ``load`` imports the application. It is called once before the processes are forked, so it must not start threads or
    leave connections open.

    Raises:
        SystemExit: The address is not available.
    """
    global board
    with _exit_if_unavailable(host, port):
        listener = _bind_socket(host, port)
    application, door = load()
    with _exit_if_unavailable(host, port):
        listener.listen(BACKLOG)
    board = Board(processes)
    most = _raise_file_limit()

    def work(slot: int) -> None:
        process = Process(listener, application, door, threads=threads, processes=processes, most=most)
        parent = os.getppid()
        shared = board
        assert shared is not None

        def beat() -> None:
            if os.getppid() != parent:
                # Exit, because the supervisor was killed and cannot stop this process.
                os.kill(os.getpid(), signal.SIGTERM)
            shared.beat(slot)

        process.run(beat)

    Supervisor(listener, board, work).run()


@contextlib.contextmanager
def _exit_if_unavailable(host: str, port: int) -> Iterator[None]:
    """Exit with a one-line error message if the address is not available."""
    try:
        yield
    except OSError as error:
        sys.exit(f"The web server cannot listen on {host}:{port}: {error.strerror}.")


def _bind_socket(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to the address but rejects connections until the application is loaded."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.setblocking(False)
    return listener


def _raise_file_limit() -> int:
    """Raise the limit for open files, and return the maximum number of connections per process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = 16_384 if hard == resource.RLIM_INFINITY else min(hard, 16_384)
    if soft < target:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
            soft = target
    # Use only half of the limit for connections, because temporary files, databases and uploads also need open files.
    return max(64, min(soft // 2, 4096))


class Supervisor:
    """Starts web processes, replaces ended processes, and stops all of them at the end."""

    def __init__(self, listener: socket.socket, board: Board, work: Callable[[int], None]) -> None:
        self._listener = listener
        self._board = board
        self._work = work
        self._children: dict[int, _Child] = {}
        # The slots without a process, with the time at which a new process may start in each slot.
        self._vacant: dict[int, float] = dict.fromkeys(range(board.places), 0.0)
        self._stopping = False
        self._wake_out, self._wake_in = socket.socketpair()

    def run(self) -> None:
        """Start the processes. Until the stop signal, replace every process that ends."""
        self._wake_out.setblocking(False)
        self._wake_in.setblocking(False)
        for number in _SIGNALS:
            signal.signal(number, self._handle_signal)
        signal.set_wakeup_fd(self._wake_in.fileno(), warn_on_full_buffer=False)
        gc.collect()
        # Exclude loaded modules from garbage collection, so that the forked processes can share their memory pages.
        gc.freeze()
        while not self._stopping:
            self._fill()
            self._wait(1.0 if not self._vacant else 0.1)
            self._reap()
            self._kill_hung()
        self._stop()

    def _handle_signal(self, number: int, frame: FrameType | None) -> None:
        if number != signal.SIGCHLD:
            self._stopping = True

    def _wait(self, seconds: float) -> None:
        """Wait for a signal or the timeout."""
        select.select([self._wake_out], [], [], seconds)
        with contextlib.suppress(BlockingIOError):
            while self._wake_out.recv(1024):
                pass

    def _fill(self) -> None:
        now = time.monotonic()
        for slot in [slot for slot, at in self._vacant.items() if at <= now]:
            del self._vacant[slot]
            pid = self._fork(slot)
            self._children[pid] = _Child(pid, slot, now)

    def _fork(self, slot: int) -> int:
        # Block signals, because the child must not receive a signal while it still has the supervisor's handlers.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        pid = os.fork()
        if pid:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            return pid
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            self._wake_in.close()
            self._wake_out.close()
            self._work(slot)
            code = 0
        except BaseException:
            logger.exception("A web process failed")
        finally:
            logging.shutdown()
            sys.stdout.flush()
            # Exit here, because the child must not return to the supervisor's code.
            os._exit(code)

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            child = self._children.pop(pid, None)
            if child is None:
                continue
            self._board.clear(child.place)
            if self._stopping:
                continue
            now = time.monotonic()
            self._vacant[child.place] = now + (QUICK_SECONDS if now - child.started < QUICK_SECONDS else 0.0)
            logger.error("A web process ended with code %s and will be replaced", os.waitstatus_to_exitcode(status))

    def _kill_hung(self) -> None:
        for child in self._children.values():
            age = self._board.age(child.place)
            if age is not None and age > HUNG_SECONDS:
                logger.error("A web process does not respond and will be killed")
                self._signal(child, signal.SIGKILL)

    def _stop(self) -> None:
        """Allow the processes to finish their requests, and kill the remaining processes after half a minute."""
        self._listener.close()
        until = time.monotonic() + STOP_SECONDS
        for child in self._children.values():
            self._signal(child, signal.SIGTERM)
        while self._children and time.monotonic() < until:
            self._wait(0.5)
            self._reap()
        for child in self._children.values():
            self._signal(child, signal.SIGKILL)

    def _signal(self, child: _Child, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.pid, number)
