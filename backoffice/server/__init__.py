"""The web server: HTTP/1.1 in front of a WSGI application.

An event loop reads requests whole and sends answers whole; threads only compute. So whoever sends or reads slowly
holds a socket and nothing else: no thread, no lock, no database connection. Parsing is llhttp's (``httptools``), the
loop libuv's (``uvloop``).

* ``supervisor``: the processes; one that ends is replaced at once by a fork of the loaded application.
* ``process``: what one of them does: accept, watch deadlines, stop in order.
* ``connection``: one socket: requests in, answers out, what is refused at the door.
* ``reception``: one request on its way in: the environ, its body, its limits.
* ``threads``: the threads, and what they make of an answer.
* ``turns``: the queue before them, in which nobody's many requests hold up everybody else's.

The package knows HTTP and WSGI and nothing of the product; ``Door`` is what the product tells it.
"""

from backoffice.server.door import Door
from backoffice.server.supervisor import serve

__all__ = ["Door", "serve"]
