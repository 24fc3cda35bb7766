"""A web server for HTTP/1.1 that runs a WSGI application.

An event loop reads whole requests and sends whole responses, and threads only compute the responses. A slow client
therefore occupies a socket, but no thread, lock or database connection. llhttp (``httptools``) parses the requests. The
event loop is libuv (``uvloop``).

* ``supervisor`` forks the processes from the loaded application, and replaces processes that end.
* ``process`` is a web process, which accepts connections, checks deadlines and shuts down gracefully.
* ``connection`` is a client connection with its requests, responses and early errors.
* ``reception`` builds the environ and the body of an incoming request, and enforces size limits.
* ``threads`` is the thread pool that runs the application and builds responses.
* ``turns`` is the fair queue of requests, in which no owner can block others.

The package does not depend on the product. The product passes its hooks as a ``Door``.
"""

from backoffice.server.door import Door
from backoffice.server.supervisor import run_server

__all__ = ["Door", "run_server"]
