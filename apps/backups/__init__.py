"""Backups of the whole installation, and archives of single shops.

**Data.** A backup is a directory with ``database.dump`` (PostgreSQL) or ``database.sqlite3``, ``files.tar``,
``secret_key`` if the installation stores the key next to its data, and ``manifest.json``. The manifest is written last.
It has the digest and size of each file, and the number of rows of each table at the time of the database copy.

**Invariants.** A backup is complete or does not exist (it is created under a temporary name). The database is copied
before the files, so a concurrent upload can add an extra file to the backup, but no file can be missing. Restoring
requires an empty installation, and fails if anything differs from the manifest.
"""
