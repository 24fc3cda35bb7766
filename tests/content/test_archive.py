import io
import stat
import struct
import tracemalloc
import unicodedata
import zipfile
import zlib
from typing import Any, Literal

import pytest

from apps.content.domain.theme_archive import ArchiveLimits, open_theme
from apps.core.media.zip_reader import ArchiveRefused
from apps.core.types import Attrs
from tests.support.factories.content import create_zip
from tests.support.files.zip_files import LAYOUT, ZipEntry, make_zip

THEME = ZipEntry("layout/theme.liquid")
# One file in each directory of a theme.
ALLOWED = (
    "assets/a.css blocks/b.liquid config/c.json layout/d.liquid locales/e.json sections/f.liquid snippets/g.liquid "
    "templates/customers/login.json"
)


def extract_archive(data: bytes, **limits: Any) -> dict[str, bytes]:
    archive = open_theme(io.BytesIO(data), limits=ArchiveLimits(**limits))
    return {key: reader.read() for key, reader in archive}


def assert_refused(reason: str, *entries: ZipEntry) -> None:
    with pytest.raises(ArchiveRefused, match=reason):
        open_theme(io.BytesIO(make_zip(*entries)))


def test_archive_unpacks_what_the_standard_library_packed() -> None:
    files = {"layout/theme.liquid": LAYOUT, "assets/logo.png": bytes(range(256)) * 900, "locales/en.json": b""}

    assert extract_archive(create_zip(files)) == files


def test_archive_reads_stored_entries_and_a_comment() -> None:
    data = make_zip(ZipEntry("layout/theme.liquid", method=zipfile.ZIP_STORED), comment=b"0123abcd")

    assert extract_archive(data) == {"layout/theme.liquid": LAYOUT}


def test_archive_reads_entries_with_data_descriptors() -> None:
    class Pipe(io.BytesIO):
        """An output that cannot seek, so that the ZIP writer puts sizes after the data."""

        def seek(self, *_: object) -> int:
            raise io.UnsupportedOperation

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("layout/theme.liquid", LAYOUT)
        archive.writestr("config/settings_data.json", b"{}")

    assert extract_archive(pipe.getvalue()) == {"layout/theme.liquid": LAYOUT, "config/settings_data.json": b"{}"}


@pytest.mark.parametrize(
    ("entries", "keys"),
    [
        (f"{ALLOWED} .git/config README.md node_modules/x/y.js Layout/theme.liquid asset/x", ALLOWED),
        ("dawn-main/ dawn-main/layout/theme.liquid dawn-main/.gitignore", "layout/theme.liquid"),
        ("dawn/layout/theme.liquid __MACOSX/dawn/layout/._theme.liquid", "layout/theme.liquid"),
        ("assets/layout/theme.liquid", "assets/layout/theme.liquid"),
        ("shop/README.md shop/theme/layout/theme.liquid shop/theme/assets/a.css", "layout/theme.liquid assets/a.css"),
        ("config/a.json a/b/layout/theme.liquid a/b/c/layout/theme.liquid", "layout/theme.liquid"),
        ("layout/theme.liquid old/layout/theme.liquid", "layout/theme.liquid"),
        ("layout/theme.liquid C:x CON notes.csv:Zone.Identifier Read readMe README", "layout/theme.liquid"),
        ("layout/theme.liquid layout/.DS_Store assets/._a.png assets/a.png:Zone.Identifier", "layout/theme.liquid"),
    ],
    ids=[
        "directories of a theme", "folder around everything", "metadata of macOS", "directory that is no wrapper",
        "folder in a folder", "outermost layout", "other theme in a folder", "names that no theme has",
        "files that systems add",
    ],
)  # fmt: skip
def test_archive_keeps_only_the_files_of_the_theme(entries: str, keys: str) -> None:
    data = make_zip(*(ZipEntry(name, b"" if name[-1] == "/" else LAYOUT) for name in entries.split()))

    assert list(extract_archive(data)) == keys.split()


@pytest.mark.parametrize(
    "key",
    [
        "assets/logo@2x.png", "templates/page.Forms - B2B.json", "assets/hero (1).jpg", "assets/Gr\u00f6\u00dfe.png",
        "assets/a%20b.png", "assets/\u65e5\u672c\u8a9e.css", "assets/x & y, z+1=?.css", "sections/\u05e9\u05dc.liquid",
        "assets/Shot at 9.41\u202fPM.png", "assets/\U0001f468\u200d\U0001f469.png", "assets/" + "\u00fc" * 248,
    ],
)  # fmt: skip
def test_archive_keeps_names_of_real_themes(key: str) -> None:
    assert list(extract_archive(make_zip(THEME, ZipEntry(key, b"{}")))) == ["layout/theme.liquid", key]


@pytest.mark.parametrize(("form", "flags"), [("NFC", 0x0800), ("NFD", 0x0800), ("NFC", 0), ("NFD", 0)])
def test_archive_composes_names_with_and_without_the_flag_for_utf_8(form: Literal["NFC", "NFD"], flags: int) -> None:
    name = unicodedata.normalize(form, "assets/Gr\u00f6\u00dfe.png")

    assert list(extract_archive(make_zip(ZipEntry(name, flags=flags)))) == ["assets/Gr\u00f6\u00dfe.png"]


def test_archive_reads_names_in_the_encoding_of_zip_files() -> None:
    data = make_zip(ZipEntry("assets/Gr\u00f6\u00dfe.png".encode("cp437"), flags=0))

    assert list(extract_archive(data)) == ["assets/Gr\u00f6\u00dfe.png"]


def test_archive_says_what_it_leaves_out() -> None:
    names = ["README.md", ".DS_Store", "a:b", *(f"docs/{number}" for number in range(9))]
    archive = open_theme(io.BytesIO(make_zip(THEME, *map(ZipEntry, names))))

    assert open_theme(io.BytesIO(make_zip(THEME))).left_out is None
    start = "Not part of a theme and left out (12): \u201cREADME.md\u201d, \u201c.DS_Store\u201d, \u201ca:b\u201d, "
    assert str(archive.left_out).startswith(start)
    assert str(archive.left_out).endswith("\u201cdocs/6\u201d, \u2026")


def test_archive_with_several_themes_is_refused() -> None:
    message = "several themes: \u201cdawn\u201d, \u201cdusk\u201d. Upload each theme as its own archive"

    assert_refused(message, ZipEntry("dawn/layout/theme.liquid"), ZipEntry("dusk/layout/theme.liquid"))


def test_archive_lists_keys_in_the_order_of_the_file_and_iterates_twice() -> None:
    archive = open_theme(io.BytesIO(make_zip(ZipEntry("templates/index.json", b"{}"), THEME)))

    assert (len(archive), archive.keys) == (2, ("templates/index.json", "layout/theme.liquid"))
    assert [[reader.read() for _, reader in archive] for _ in range(2)] == [[b"{}", LAYOUT]] * 2


def test_reader_hands_out_pieces_of_the_size_asked_for() -> None:
    archive = open_theme(io.BytesIO(make_zip(ZipEntry("assets/a.txt", b"abcdefgh"))))

    pieces = [(key, reader.size, list(reader.chunks(3)), reader.read()) for key, reader in archive]

    assert pieces == [("assets/a.txt", 8, [b"abc", b"def", b"gh"], b"")]


def test_archive_keeps_a_nested_zip_packed() -> None:
    inner = make_zip(ZipEntry("../../evil", bytes(1_000_000)))

    assert extract_archive(make_zip(ZipEntry("assets/inner.zip", inner))) == {"assets/inner.zip": inner}


DANGEROUS_NAMES = {
    "unsafe path": [
        "../../x", "layout/../../x", ".git/../x", "layout/.. /x", "layout/./x", "layout//x", "/abs", "/", r"C:\x",
        r"a\..\b", r"\\host\share",
    ],
    "can't contain backslashes, colons, line breaks or invisible characters": [
        "layout/x\0.liquid", "layout/x\r\n.liquid", "layout/x:stream", "assets/\N{RIGHT-TO-LEFT OVERRIDE}gnp.a",
    ],
    "Windows reserves": [
        "layout/con.liquid", "assets/Aux .css", "assets/lpt1/x.css", "assets/com\N{SUPERSCRIPT ONE}.css",
    ],
    "without a name": [""],
    "is too long": ["assets/" + "x" * 293],
    "two dots in a row": ["assets/a..b.css"],
    "starts or ends with a space": ["assets/ a.css", "assets/a /b.css", "assets/a.css\N{NO-BREAK SPACE}"],
}  # fmt: skip


@pytest.mark.parametrize("reason", DANGEROUS_NAMES)
def test_archive_refuses_a_dangerous_name(reason: str) -> None:
    for name in DANGEROUS_NAMES[reason]:
        assert_refused(reason, THEME, ZipEntry(name))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("layout/theme.liquid", "layout/theme.liquid"),
        ("layout/theme.liquid", "layout/Theme.liquid"),
        ("assets/stra\N{LATIN SMALL LETTER SHARP S}e", "assets/strasse"),
        ("assets/" + unicodedata.normalize("NFC", "e\u0301"), "assets/" + unicodedata.normalize("NFD", "\u00e9")),
        ("dawn/assets/A", "dawn/assets/a"),
    ],
)
def test_archive_refuses_names_that_are_the_same_somewhere(first: str, second: str) -> None:
    assert_refused("can't tell these names apart", ZipEntry(first), ZipEntry(second))


def test_refusal_shows_a_name_without_its_invisible_characters() -> None:
    data = make_zip(ZipEntry("layout/\N{RIGHT-TO-LEFT OVERRIDE}dliuqil.x"))

    with pytest.raises(ArchiveRefused) as error:
        open_theme(io.BytesIO(data))

    assert str(error.value).isprintable()


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK])
@pytest.mark.parametrize("name", ["layout/x.liquid", ".git/x"])
def test_archive_refuses_links_and_devices(kind: int, name: str) -> None:
    assert_refused("a link or a device", THEME, ZipEntry(name, b"/etc/passwd", attributes=(kind | 0o777) << 16))


@pytest.mark.parametrize("flag", [0x0001, 0x0041, 0x2000, 0x0020])
def test_archive_refuses_encrypted_entries(flag: int) -> None:
    assert_refused("encrypted", ZipEntry("layout/theme.liquid", flags=flag))


@pytest.mark.parametrize("method", [1, 9, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 99])
def test_archive_refuses_other_methods_than_stored_and_deflated(method: int) -> None:
    assert_refused("unknown compression method", ZipEntry("layout/theme.liquid", method=method))


@pytest.mark.parametrize(
    "data",
    [b"", b"PK", b"<!doctype html><title>Not found</title>" * 100, b"PK\x05\x06", b"Rar!\x1a\x07\x00", b"\0" * 70_000],
    ids=["empty", "two bytes", "html", "cut end record", "rar", "zeros"],
)
def test_archive_refuses_what_is_no_zip(data: bytes) -> None:
    with pytest.raises(ArchiveRefused, match="not a complete ZIP archive"):
        open_theme(io.BytesIO(data))


def test_archive_refuses_every_truncation() -> None:
    data = make_zip(THEME, ZipEntry("assets/a.css"))

    for length in range(len(data)):
        with pytest.raises(ArchiveRefused):
            extract_archive(data[:length])


def test_archive_answers_every_flipped_byte_with_a_refusal_or_the_true_content() -> None:
    true = {"layout/theme.liquid": LAYOUT, "assets/a.css": b"a{}" * 50}
    data = make_zip(*(ZipEntry(name, content) for name, content in true.items()))
    refused = 0

    for position in range(len(data)):
        for mask in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[position] ^= mask
            try:
                result = extract_archive(bytes(damaged))
            except ArchiveRefused:
                refused += 1
            else:
                assert set(result.values()) <= set(true.values())

    assert refused > len(data)


@pytest.mark.parametrize(
    "data", [b"#!/bin/sh\n" + make_zip(THEME), make_zip(THEME) + b"<script>"], ids=["before", "after"]
)
def test_archive_refuses_foreign_data_around_it(data: bytes) -> None:
    with pytest.raises(ArchiveRefused, match="other data"):
        open_theme(io.BytesIO(data))


def test_archive_refuses_the_zip64_form() -> None:
    data = make_zip(THEME)
    end = len(data) - 22
    directory_size, directory_start = struct.unpack_from("<2L", data, end + 12)
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, directory_size, directory_start)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
    # The classic end record is valid, too, so readers with and without ZIP64 support would see different directories.
    classic = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, directory_size + 76, directory_start, 0)

    with pytest.raises(ArchiveRefused, match="ZIP64"):
        open_theme(io.BytesIO(data[:end] + record + locator + classic))


def test_archive_refuses_several_volumes() -> None:
    data = bytearray(make_zip(THEME))
    data[-18] = 1

    with pytest.raises(ArchiveRefused, match="several volumes"):
        open_theme(io.BytesIO(bytes(data)))


@pytest.mark.parametrize("names", [(), ("README.md",), ("layout",), ("a/b/theme.liquid",), ("layout/",)])
def test_archive_refuses_what_holds_no_theme(names: tuple[str, ...]) -> None:
    assert_refused("no theme files", *(ZipEntry(name, b"") for name in names))


def test_archive_refuses_entries_that_share_their_data() -> None:
    kernel = ZipEntry("assets/a.bin", bytes(1_000_000))
    copies = [ZipEntry(f"assets/{number}.bin", bytes(1_000_000), offset=0) for number in range(50)]

    assert_refused("overlapping", kernel, *copies)


HIDDEN = make_zip(ZipEntry("assets/b.css"))
INNER = ZipEntry("assets/b.css", offset=30 + len("assets/a.css"))
HIDDEN_START = HIDDEN[: 30 + len("assets/b.css") + len(ZipEntry("x").packed)]


@pytest.mark.parametrize(
    ("reason", "entries"),
    [
        ("overlapping", [ZipEntry("assets/a.bin", HIDDEN, method=zipfile.ZIP_STORED), INNER]),
        ("overlapping", [ZipEntry("assets/a.css", local_extra=HIDDEN_START), INNER]),
        ("overlapping", [THEME, ZipEntry("assets/a.css", offset=10_000)]),
        ("overlapping", [THEME, ZipEntry("assets/a.css", offset=0xFFFFFFF0)]),
        ("overlapping", [ZipEntry("layout/theme.liquid", packed_size=60)]),
        ("damaged", [ZipEntry(b"layout/\xff\xfe")]),
        ("both a file and a folder", [ZipEntry("layout/a"), ZipEntry("layout/A/b/c.liquid")]),
        ("does not have the size", [ZipEntry("layout/", LAYOUT), THEME]),
    ],
    ids=[
        "inside another", "in the extra field of another", "beyond the end", "far beyond the end", "into the directory",
        "name in another encoding", "file that is also a directory", "directory with content",
    ],
)  # fmt: skip
def test_archive_refuses_misplaced_entries_and_impossible_names(reason: str, entries: list[ZipEntry]) -> None:
    assert_refused(reason, *entries)


@pytest.mark.parametrize(
    "data",
    [
        make_zip(ZipEntry("assets/a.css"), ZipEntry("assets/b.css", offset=8)).replace(b"\x03\x04", b"??"),
        make_zip(THEME).replace(b"layout/theme", b"layout/other", 1),
    ],
    ids=["no local header", "another name"],
)
def test_archive_refuses_a_wrong_local_header(data: bytes) -> None:
    with pytest.raises(ArchiveRefused, match="damaged"):
        extract_archive(data)


def test_archive_counts_all_entries_and_does_not_believe_the_declared_number() -> None:
    entries = [ZipEntry(f"assets/{number}.css", b"") for number in range(4)]
    skipped = [ZipEntry("layout/a.css"), *(ZipEntry(f"docs/{number}", b"") for number in range(5))]

    assert len(extract_archive(make_zip(*entries[:3]), entries=3)) == 3
    for data in (make_zip(*entries), make_zip(*skipped, count=1)):
        with pytest.raises(ArchiveRefused, match="more than 3 entries"):
            extract_archive(data, entries=3)


def test_archive_refuses_10001_entries_by_default() -> None:
    entries = [ZipEntry(f"assets/{number}", b"", method=zipfile.ZIP_STORED) for number in range(10_001)]

    assert_refused("more than 10,000 entries", *entries)


def test_archive_refuses_a_directory_blown_up_by_comments() -> None:
    data = make_zip(ZipEntry("layout/a.css"), ZipEntry("assets/" + "x" * 2_100))

    with pytest.raises(ArchiveRefused, match="directory is too large"):
        extract_archive(data, entries=2)


def test_archive_refuses_a_file_larger_than_the_packed_limit() -> None:
    data = make_zip(THEME)

    assert extract_archive(data, packed_bytes=len(data))
    with pytest.raises(ArchiveRefused, match="larger than"):
        extract_archive(data, packed_bytes=len(data) - 1)


def test_archive_refuses_declared_sizes_beyond_the_unpacked_limit() -> None:
    bombs = [ZipEntry(f"assets/{number}.bin", bytes(10 * 1024 * 1024)) for number in range(26)]

    assert_refused("unpacks to more than 250 MB", *bombs)


def test_archive_counts_the_bytes_that_really_come() -> None:
    honest = ZipEntry("assets/a.bin", bytes(60))
    lying = ZipEntry("assets/b.bin", bytes(1_000_000), size=40, crc=zlib.crc32(bytes(41)))

    with pytest.raises(ArchiveRefused, match="unpacks to more than 100 bytes"):
        extract_archive(make_zip(honest, lying), unpacked_bytes=100)


def test_archive_holds_little_memory_while_it_unpacks() -> None:
    size = 20 * 1024 * 1024
    data = make_zip(*(ZipEntry(f"assets/{number}.bin", bytes(size)) for number in range(3)))
    file = io.BytesIO(data)
    tracemalloc.start()

    total = sum(len(chunk) for _, reader in open_theme(file) for chunk in reader.chunks())

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 3 * size
    assert peak < 2 * 1024 * 1024


@pytest.mark.parametrize(
    ("key", "kib"), [("assets/a.css", 256), ("layout/A.LIQUID", 256), ("assets/a.png", 20480), ("assets/css", 20480)]
)
def test_archive_limits_each_asset_by_its_kind(key: str, kib: int) -> None:
    limit = kib * 1024
    assert len(extract_archive(make_zip(ZipEntry(key, bytes(limit))))[key]) == limit
    with pytest.raises(ArchiveRefused, match=r"is larger than (256 KB|20 MB)"):
        extract_archive(make_zip(ZipEntry(key, bytes(limit + 1))))


def test_archive_does_not_limit_a_skipped_file_like_an_asset() -> None:
    data = make_zip(THEME, ZipEntry(".git/log.txt", bytes(300 * 1024)))

    assert list(extract_archive(data)) == ["layout/theme.liquid"]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize(
    "lie",
    [
        {"crc": 0},
        {"size": len(LAYOUT) + 1},
        {"size": len(LAYOUT) - 1},
        {"size": len(LAYOUT) - 1, "crc": zlib.crc32(LAYOUT[:-1])},
        {"size": len(LAYOUT) - 5, "crc": zlib.crc32(LAYOUT[:-5])},
        {"size": len(LAYOUT) - 5, "crc": zlib.crc32(LAYOUT[:-4])},
        {"size": 0, "crc": 0},
        {"packed_size": 5},
    ],
    ids=str,
)
def test_archive_refuses_a_lying_entry(method: int, lie: Attrs) -> None:
    data = make_zip(ZipEntry("layout/theme.liquid", method=method, **lie))

    with pytest.raises(ArchiveRefused):
        extract_archive(data)


def test_archive_refuses_data_that_is_no_deflate_stream() -> None:
    entry = ZipEntry("layout/theme.liquid")
    entry.packed = b"\xff" * len(entry.packed)

    with pytest.raises(ArchiveRefused, match="damaged"):
        extract_archive(make_zip(entry))


@pytest.mark.parametrize("position", [0, 1])
def test_archive_verifies_unread_assets(position: int) -> None:
    entries = [ZipEntry("layout/theme.liquid"), ZipEntry("assets/a.css")]
    entries[position].crc = 1

    with pytest.raises(ArchiveRefused, match="damaged"):
        list(open_theme(io.BytesIO(make_zip(*entries))))


def test_archive_leaves_errors_of_the_reading_code_alone() -> None:
    archive = open_theme(io.BytesIO(make_zip(THEME)))

    def store() -> None:
        for _ in archive:
            message = "disk full"
            raise RuntimeError(message)

    with pytest.raises(RuntimeError, match=r"^disk full$"):
        store()
