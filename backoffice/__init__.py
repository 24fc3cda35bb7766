"""The Django project: settings, root URLs, and entry points of the processes."""

import atexit
import gc

# Loading the product creates hundreds of thousands of objects and hardly any garbage, and most objects of requests live
# for a few milliseconds. With Python's default of 700 new objects per collection, garbage collection would take a
# quarter of the start time and a third of the time of webhook deliveries.
gc.set_threshold(50_000, 10, 10)
# At its end, Python would search all objects for garbage, which takes a third of the time of a short command.
atexit.register(gc.freeze)
