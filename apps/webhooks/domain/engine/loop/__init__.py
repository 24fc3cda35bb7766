"""The dispatcher: an event loop, its lanes and threads, and what it does with each delivery."""
