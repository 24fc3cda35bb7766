"""The parts of the web server that gunicorn does not have.

* ``adapter`` is the ASGI application that reads a whole request, queues it and runs the WSGI application in a thread.
* ``wsgi`` calls the WSGI application for a request.
* ``fair_queue`` is the queue of requests, in which no owner can block others.
* ``worker`` is gunicorn's ASGI worker with time limits for silent clients.
* ``gunicorn_config`` is the configuration of gunicorn.
* ``freeing`` sets the thresholds of the memory allocator.
"""
