"""Draw a flame graph of a request: ``python -m benchmarks.flame create > docs/images/flame-create.svg``.

The command sends the requests of one scenario to a server, samples the processes with py-spy, and draws a flame graph.
Each box is a function above its caller. The width is the function's share of Python's CPU time, without waiting. Boxes
below half a percent are omitted.
"""

import argparse
import html
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

from benchmarks import databases, load, servers
from benchmarks.variants import CUSTOMERS, ROWS, SCENARIOS
from tests.support.servers.ports import find_free_port

WIDTH, HEIGHT = 1200, 17
LEAST = 0.005
COLD = "BACKOFFICE_RENDER_CACHE_MB"
# Frames outside this function are the same for all requests and are omitted.
ROOT = "request_boundary.<locals>.layer (backoffice/middleware.py"
Stacks = Counter[tuple[str, ...]]


def sample_stacks(scenario: str, seconds: int, *, cold: bool) -> Stacks:
    """Put a server under load, and return the number of samples for each stack of functions."""
    kind, path = SCENARIOS[scenario]
    with tempfile.TemporaryDirectory() as name, databases.create_postgres(Path(name)) as database:
        database.prepare(ROWS)
        environment = {**database.environment, **({COLD: "0"} if cold else {})}
        with servers.run_server(
            "flame", servers.OURS, find_free_port(), environment, CUSTOMERS, database.token
        ) as server:
            arguments = (server.port, kind, database.token, path)
            load.run_load(*arguments, ROWS, min(seconds, 4))
            background = threading.Thread(target=load.run_load, args=(*arguments, 1_000_000, seconds + min(seconds, 3)))
            background.start()
            stacks_path = Path(name) / "stacks"
            command = [
                str(Path(sys.executable).with_name("py-spy")),
                "record",
                "--pid",
                str(server.process.pid),
                "--subprocesses",
                "--rate",
                "400",
            ]
            command += ["--duration", str(seconds), "--format", "raw", "--gil", "--full-filenames"]
            command += ["--output", str(stacks_path)]
            try:
                subprocess.run(command, check=True, capture_output=True)
            except FileNotFoundError:
                raise load.Unmeasurable("The flame graph needs py-spy: make environment") from None
            background.join()
        return parse_stacks(stacks_path.read_text())


def parse_stacks(text: str) -> Stacks:
    """Parse py-spy's raw format; return the stacks from ``ROOT``, with short paths and without line numbers."""
    stacks: Stacks = Counter()
    for line in text.splitlines():
        frames, _, count = line.rpartition(" ")
        names = [_short(frame) for frame in frames.split(";")]
        outer = [index for index, frame in enumerate(names) if frame.startswith(ROOT)]
        # Ignore imports, because a process imports each module only once.
        if outer and "importlib" not in line:
            stacks[tuple(names[outer[0] :])] += int(count)
    return stacks


def _short(frame: str) -> str:
    function, _, index = frame.partition(" (")
    path = index.rstrip(")").rpartition(":")[0]
    for folder in ("/site-packages/", "/lib/python3.11/"):
        path = path.rpartition(folder)[2]
    root = str(Path(__file__).resolve().parents[1]) + "/"
    return f"{function} ({path.removeprefix(root)})"


def draw_flame_graph(stacks: Stacks, title: str) -> str:
    """Return the flame graph as SVG."""
    total = sum(stacks.values())
    boxes: Stacks = Counter()
    for stack, count in stacks.items():
        for depth in range(1, len(stack) + 1):
            boxes[stack[:depth]] += count
    following: dict[tuple[str, ...], float] = {(): 0.0}
    shapes = []
    for stack in sorted(boxes, key=lambda stack: (len(stack), stack)):
        parent, share = stack[:-1], boxes[stack] / total
        if share < LEAST or parent not in following:
            continue
        remaining = following[parent]
        following[parent] = remaining + share
        following[stack] = remaining
        shapes.append((len(stack), remaining, share, stack[-1]))
    deepest = max(depth for depth, *_ in shapes)
    height = (deepest + 2) * HEIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-size="11">',
        "<style>text { font-family: monospace }</style>",
        f'<text x="4" y="13">{html.escape(title)}</text>',
    ]
    for depth, remaining, share, name in shapes:
        x, width, y = remaining * WIDTH, share * WIDTH, height - depth * HEIGHT
        label = html.escape(name[: int(width / 6.7)]) if width > 40 else ""
        lines.append(
            f'<g><title>{html.escape(name)}: {share:.1%}</title><rect x="{x:.1f}" y="{y}" width="{width:.1f}"'
            f' height="{HEIGHT - 1}" fill="{_color(name)}"/><text x="{x + 2:.1f}" y="{y + 12}">{label}</text></g>'
        )
    return "\n".join([*lines, "</svg>", ""])


def _color(name: str) -> str:
    """Return orange for the product, and a cool color for libraries."""
    if "(apps/" in name or "(backoffice/" in name:
        return "#f2a65a"
    return {"psycopg": "#8fb8de", "django": "#9ad1a5"}.get(name.partition("(")[2].partition("/")[0], "#d0d0d0")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario", choices=sorted(SCENARIOS))
    parser.add_argument("--cold", action="store_true", help="turn off the render cache")
    parser.add_argument("--seconds", type=int, default=8)
    options = parser.parse_args()
    stacks = sample_stacks(options.scenario, options.seconds, cold=options.cold)
    if not stacks:
        raise load.Unmeasurable("py-spy recorded no requests. It may need root privileges.")
    title = f"{options.scenario}{', not cached' if options.cold else ''}: {sum(stacks.values())} samples"
    sys.stdout.write(draw_flame_graph(stacks, title))


if __name__ == "__main__":
    main()
