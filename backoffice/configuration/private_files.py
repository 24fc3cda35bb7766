"""Keep the files of the data folder from other users of the machine."""

import os
import stat
from pathlib import Path

FILE_MODE, FOLDER_MODE = 0o600, 0o700
# Commands that write source files or static files. Other users, such as a web server, may read these files.
PUBLIC_COMMANDS = {"collectstatic", "list_webhook_topics", "makemessages", "makemigrations", "openapi"}


def use_private_umask() -> int:
    """Let only this user read all new files of the process, also files that libraries write. Return the old umask."""
    return os.umask(0o777 & ~FOLDER_MODE)


def make_folder_private(path: Path) -> None:
    """Let only the owner open a folder. Skip folders of other users and folders for all users, such as ``/tmp``."""
    status = path.stat()
    if status.st_uid == os.geteuid() and not status.st_mode & stat.S_ISVTX:
        path.chmod(FOLDER_MODE)
