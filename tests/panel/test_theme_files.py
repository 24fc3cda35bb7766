"""Tests that an upgrade of the panel theme names the files that need a comparison with the new version.

After an upgrade, compare each named file with the previous version of the theme, apply the changes to the panel's file,
and replace the hash.
"""

from hashlib import sha256
from pathlib import Path

import unfold

ROOT, THEME = Path(__file__).parents[2], Path(unfold.__file__).parent
FOLDERS = ("templates", "static")
# Files of the theme that the panel overrides or extends with a file of the same name.
OVERRIDDEN = {
    "static/unfold/fonts/inter/Inter-Medium.woff2": "0ff3e94614e1",
    "static/unfold/fonts/inter/Inter-Regular.woff2": "e06f6b1bc553",
    "static/unfold/fonts/inter/Inter-SemiBold.woff2": "5cb7103e4e60",
    "static/unfold/fonts/inter/LICENSE": "262481e84452",
    "static/unfold/fonts/material-symbols/LICENSE": "cfc7749b96f6",
    "static/unfold/fonts/material-symbols/Material-Symbols-Outlined.woff2": "3561c9446adf",
    "static/unfold/js/chart/chart.js": "db65ba705111",
    "templates/admin/base.html": "7428a8411d69",
    "templates/admin/change_form.html": "3fc6d1194eda",
    "templates/admin/change_list.html": "7bb5cf96a99d",
    "templates/admin/change_list_results.html": "26fc8ca89818",
    "templates/admin/includes/fieldset.html": "b068ce991507",
    "templates/admin/includes/object_delete_summary.html": "160c1f6a9642",
    "templates/admin/search_form.html": "6fffbeaa10f6",
    "templates/admin/submit_line.html": "b973d6e6ba0f",
    "templates/unfold/helpers/add_link.html": "b10877ba3500",
    "templates/unfold/helpers/boolean.html": "f6431424053f",
    "templates/unfold/helpers/change_list_filter_vertical.html": "6b9dffc9312c",
    "templates/unfold/helpers/command_help.html": "62e96d75949d",
    "templates/unfold/helpers/label.html": "6a21864c3431",
    "templates/unfold/helpers/shortcuts.html": "5521f8ee1660",
    "templates/unfold/layouts/skeleton.html": "062bb8d9caf5",
}  # fmt: skip
# Files of the theme that the panel replaces or adjusts with other files.
REPLACED = {
    "static/unfold/fonts/inter/styles.css": ("static/panel/panel.css", "42a7607af5d5"),
    "static/unfold/fonts/material-symbols/styles.css": ("static/panel/panel.css", "7bd6dd1c24b4"),
    "static/unfold/js/app.js": ("static/panel/panel.js", "d95bf6aad8d7"),
    "templates/admin/actions.html": ("templates/panel/list_actions.html", "4cb3331602a6"),
    "templates/admin/filter.html": ("templates/panel/filter_links.html", "fd1ad8c8df5b"),
    "templates/admin/nav_sidebar.html": ("templates/panel/menu.html", "9ded21d2f103"),
    "templates/admin/pagination.html": ("templates/panel/pagination.html", "231de7f4486c"),
    "templates/unfold/helpers/app_list.html": ("templates/panel/menu.html", "aee0d40c9583"),
    "templates/unfold/helpers/change_list_headers.html": ("templates/panel/list_column_headers.html", "554b2efdc837"),
    "templates/unfold/helpers/command.html": ("static/panel/navigation.js", "e10d80a03e46"),
    "templates/unfold/helpers/command_results.html": ("templates/panel/palette_results.html", "dae3b9b188ad"),
    "templates/unfold/helpers/empty_results.html": ("templates/panel/empty_list.html", "830db82d60f5"),
    "templates/unfold/helpers/header.html": ("templates/panel/header.html", "40708fcc53f5"),
    "templates/unfold/helpers/navigation.html": ("templates/panel/menu.html", "fd819dae3473"),
    "templates/unfold/helpers/pagination_default.html": ("templates/panel/pagination.html", "fad73d3c0534"),
    "templates/unfold/helpers/search.html": ("templates/panel/menu.html", "b55f50fdc44a"),
    "templates/unfold/helpers/welcomemsg.html": ("templates/panel/header.html", "91ac76169f4c"),
}  # fmt: skip


def hash_file(name: str) -> str:
    """Return the beginning of the hash of a file in the theme, or an empty string if the file no longer exists."""
    path = THEME / name
    return sha256(path.read_bytes()).hexdigest()[:12] if path.exists() else ""


def list_files(root: Path) -> set[str]:
    """Return the templates and static files below a folder."""
    return {
        path.relative_to(root).as_posix() for folder in FOLDERS for path in (root / folder).rglob("*") if path.is_file()
    }


def test_each_overridden_file_is_listed() -> None:
    own_files = list_files(ROOT)

    assert sorted(own_files & list_files(THEME)) == sorted(OVERRIDDEN)
    assert {own for own, _hash in REPLACED.values()} <= own_files


def test_the_theme_has_not_changed_overridden_files() -> None:
    known = OVERRIDDEN | {name: known_hash for name, (_own, known_hash) in REPLACED.items()}

    changed = {name: new_hash for name, known_hash in known.items() if (new_hash := hash_file(name)) != known_hash}

    assert changed == {}
