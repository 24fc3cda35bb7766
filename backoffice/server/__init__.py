"""Web server: HTTP/1.1 in front of a WSGI application.

An event loop reads whole requests and sends whole responses; threads only compute. A slow client therefore
occupies a socket, but no thread, lock or database connection. llhttp (``httptools``) parses requests; the loop is
libuv (``uvloop``).

* ``supervisor``: starts the processes and replaces each that ends with a fork of the loaded application.
* ``process``: one web process: accepts connections, checks deadlines, shuts down in order.
* ``connection``: one socket: requests, responses and early errors.
* ``reception``: one incoming request: the environ, the body, the limits.
* ``threads``: the thread pool that runs the application and builds responses.
* ``turns``: the fair queue of requests, in which no owner can block the others.

The package knows HTTP and WSGI, but not the product; the product passes its rules as a ``Door``.
"""

from backoffice.server.door import Door
from backoffice.server.supervisor import run_server

__all__ = ["Door", "run_server"]
