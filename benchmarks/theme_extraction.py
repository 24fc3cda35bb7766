"""Measure the time and memory of theme extraction, compared with ``zipfile.extractall``.

Run: ``python -m benchmarks.theme_extraction [--files 300] [--megabytes 10] [--rounds 15]``

In each round, both extract the same archive to the same disk one after the other, so that other load affects both
equally. The result is the median of the ratios. Theme extraction includes everything from the open archive to the
database rows: validation, digests, files, assets and the event.
"""

import argparse
import io
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.scale import get_exit_code

LIMIT = 3.0
LIMIT_MEMORY = 150

FOLDER = Path(tempfile.mkdtemp(prefix="theme-extraction-"))
os.environ["BACKOFFICE_DATA_DIR"] = str(FOLDER / "data")
os.environ["DJANGO_SETTINGS_MODULE"] = "backoffice.settings"
os.environ["BACKOFFICE_LOG_LEVEL"] = "ERROR"


def make_archive(files: int, size: int) -> bytes:
    """Create an archive: half of the files are compressible text, half are incompressible images."""
    chance = random.Random(300)
    words = [bytes(chance.choices(range(97, 123), k=chance.randint(2, 9))) for _ in range(2000)]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("layout/theme.liquid", "<html></html>")
        for number in range(files - 1):
            if number % 2:
                archive.writestr(f"assets/picture-{number}.png", chance.randbytes(size // files))
            else:
                text = b" ".join(chance.choices(words, k=size // files // 6))
                archive.writestr(f"snippets/part-{number}.liquid", text[: size // files])
    return buffer.getvalue()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--megabytes", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        options.make.write_bytes(make_archive(options.files, options.megabytes * 1024 * 1024))
        return 0

    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection
    from django.utils import timezone

    from apps.content.domain import theme_extraction, themes
    from apps.content.models import Asset, FileContent, Theme
    from apps.core.tenancy.scope import shop_scope
    from apps.shops.domain.shop_creation import create_shop

    call_command("migrate", verbosity=0)
    shop = create_shop(
        domain="bench.example", name="Bench", email="owner@bench.example", actor="system", at=timezone.now()
    )
    path = FOLDER / "theme.zip"
    # Create the archive in a separate process, because this process's memory is measured.
    size = ("--files", str(options.files), "--megabytes", str(options.megabytes))
    subprocess.run([sys.executable, "-m", "benchmarks.theme_extraction", "--make", str(path), *size], check=True)

    def theirs() -> None:
        target = FOLDER / "extracted"
        with zipfile.ZipFile(path) as packed:
            packed.extractall(target)

    def ours() -> None:
        with path.open("rb") as file:
            files = theme_extraction.store_archive_files(file, lambda result, total: None)
        theme = Theme.objects.create(shop=shop, name="Bench")
        themes.install_theme_files(theme.pk, files.blobs, actor="system", at=timezone.now())

    def clear() -> None:
        shutil.rmtree(FOLDER / "extracted", ignore_errors=True)
        Theme.objects.exclude(role="main").delete()
        used = Asset.objects.values("content")
        FileContent.objects.exclude(pk__in=used).delete()
        shutil.rmtree(FOLDER / "data" / "media" / "shops" / str(shop.pk) / "content", ignore_errors=True)
        if connection.vendor == "sqlite":
            # Flush the cleanup's changes to disk before the next round.
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    with shop_scope(shop):
        pairs = [(time_call(theirs), time_call(ours), time_call(clear)) for _ in range(options.rounds)]
    base, own = (statistics.median(pair[side] for pair in pairs[1:]) for side in (0, 1))
    ratio = statistics.median(pair[1] / pair[0] for pair in pairs[1:])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{options.files} files, {options.megabytes} MB, packed {path.stat().st_size / 2**20:.1f} MiB")
    print(f"zipfile.extractall {base * 1000:7.1f} ms")
    print(f"theme extraction   {own * 1000:7.1f} ms   {ratio:.2f}x (at most {LIMIT}x)")
    print(f"peak memory        {memory:7.1f} MiB  (at most {LIMIT_MEMORY} MiB)")
    shutil.rmtree(FOLDER)
    return get_exit_code(ratio > LIMIT or memory > LIMIT_MEMORY)


def time_call(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    raise SystemExit(main())
