"""Test that the visual editor preserves HTML that the user does not edit, byte for byte.

The editor's parser and serializer run in Node with typical HTML from shops, which is in ``fragments.txt``, separated by
``=====``: HTML from word processors, page builders and apps, handwritten HTML, and invalid HTML. Each fragment is
tested alone, between two other fragments, and inside the wrappers of editors and page builders.
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


def read_fragments() -> list[str]:
    """Return the HTML fragments."""
    return (HERE / "fragments.txt").read_bytes().decode().split("\n=====\n")


def build_texts(pieces: list[str]) -> list[str]:
    """Return each fragment alone, between two other fragments, and inside a wrapper."""
    neighbors = zip(pieces, pieces[7:] + pieces[:7], pieces[31:] + pieces[:31], strict=True)
    combined = [f"{first}\n{second}{third}" for first, second, third in neighbors]
    within = [AROUND[number % len(AROUND)].format(piece) for number, piece in enumerate(pieces)]
    return [*pieces, *combined, *within]


def test_unedited_markup_stays_byte_for_byte(tmp_path: Path, node_packages: Path) -> None:
    script = tmp_path / "check.cjs"
    options = ("--bundle", "--platform=node", "--format=cjs", "--log-level=error", f"--outfile={script}")
    subprocess.run([node_packages / ".bin" / "esbuild", str(HERE / "check.js"), *options], check=True)

    pieces = read_fragments()
    texts = build_texts(pieces)
    process = subprocess.run(["node", script], input=json.dumps(texts), check=True, capture_output=True, text=True)

    result = json.loads(process.stdout)
    assert result["problems"] == []
    assert result["texts"] == len(texts)
    assert len({*pieces}) == len(pieces) >= 200
    assert result["changes"] > 1200
    # Only a few texts must be edited as source, because they contain only a script or have overlapping elements.
    assert result["whole"] < 60
