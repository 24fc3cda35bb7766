"""Backups: the database, the files and the key in one folder that can prove itself.

The data: a folder with ``database.dump`` (PostgreSQL) or ``database.sqlite3``, ``files.tar``, ``secret_key`` where the
installation keeps one beside its data, and ``manifest.json``, which is written last: digest and size of each, and the
number of rows of each table in the very moment that the database's copy shows.

Invariants: a backup is there whole or not at all (it is made under another name); the database is copied before the
files, so a file that comes in between is one too many and never one too few; restoring writes into an empty place only,
and ends in an error where anything is not as the manifest says.
"""
