"""The visual editor keeps what it does not touch, byte for byte.

Its reading and writing run in Node, over markup as shops have it (``fragments.txt``, ``=====`` between two): pasted
from word processors, made by page builders and apps, typed by hand, broken. Each piece is taken by itself, beside two
others, and within what editors and page builders put around.
"""

import json
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
AROUND = (
    '<div class="rte">\n  {}\n</div>',
    "<section><div><div>{}</div></div></section>",
    "<blockquote>{}</blockquote><p>after</p>",
    "<table><tbody><tr><td>{}</td><td>beside</td></tr></tbody></table>",
)


def fragments() -> list[str]:
    """The pieces, more than two hundred different ones."""
    return (HERE / "fragments.txt").read_bytes().decode().split("\n=====\n")


def texts_of(pieces: list[str]) -> list[str]:
    """Each piece by itself, beside two others, and within another's markup."""
    others = zip(pieces, pieces[7:] + pieces[:7], pieces[31:] + pieces[:31], strict=True)
    beside = [f"{one}\n{two}{three}" for one, two, three in others]
    within = [AROUND[number % len(AROUND)].format(piece) for number, piece in enumerate(pieces)]
    return [*pieces, *beside, *within]


def test_what_is_not_touched_stays_byte_for_byte(tmp_path: Path, node_packages: Path) -> None:
    built = tmp_path / "check.cjs"
    options = ("--bundle", "--platform=node", "--format=cjs", "--log-level=error", f"--outfile={built}")
    subprocess.run([node_packages / ".bin" / "esbuild", str(HERE / "check.js"), *options], check=True)

    pieces = fragments()
    texts = texts_of(pieces)
    done = subprocess.run(["node", built], input=json.dumps(texts), check=True, capture_output=True, text=True)

    said = json.loads(done.stdout)
    assert said["problems"] == []
    assert said["texts"] == len(texts)
    assert len({*pieces}) == len(pieces) >= 200
    assert said["changes"] > 1200
    # The few that can be changed in the source alone: nothing but a script, or ends that cross each other.
    assert said["whole"] < 60
