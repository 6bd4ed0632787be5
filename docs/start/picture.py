#!/usr/bin/env python3
"""Draws the picture of a run in the README: `vesica demo` in a terminal, as an SVG.

    python3 docs/start/picture.py target/release/vesica > docs/start/run.svg
"""

import html
import subprocess
import sys
import textwrap

COLUMNS = 92
LINE = 20
MARGIN = 16


def demo(program: str) -> list[str]:
    """The lines of a demo on the shop's side, and its summary."""
    ended = subprocess.run([program, "demo"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    lines = ended.stdout.splitlines()
    first = lines.index(next(line for line in lines if "reading the table" in line and line.startswith("  shop")))
    shop = [line for line in lines[first:] if line.startswith("  shop |") and "rows a second" not in line]
    checked = next(line for line in lines if line.startswith("shop: expected"))
    return [lines[0], *shop, checked]


def wrapped(lines: list[str]) -> list[str]:
    """The lines as a terminal of COLUMNS columns shows them, broken between words."""
    broken = [textwrap.wrap(line, COLUMNS, subsequent_indent="         ", drop_whitespace=False) or [""] for line in lines]
    return [line.rstrip() for part in broken for line in part]


def svg(lines: list[str]) -> str:
    """A dark window with these lines, the first after a prompt."""
    width = round(COLUMNS * 8.43) + 2 * MARGIN
    height = LINE * (len(lines) + 1) + 2 * MARGIN + 24
    shown = "\n".join(
        f'  <text x="{MARGIN}" y="{MARGIN + 24 + LINE * (number + 1)}" class="{kind}" xml:space="preserve">{html.escape(line)}</text>'
        for number, (kind, line) in enumerate(lines)
    )
    dots = "".join(
        f'<circle cx="{MARGIN + 6 + 20 * number}" cy="{MARGIN + 2}" r="6" fill="{colour}"/>'
        for number, colour in enumerate(["#ff5f56", "#ffbd2e", "#27c93f"])
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">
  <title>A terminal in which `vesica demo` runs both parties</title>
  <style>text {{ font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #d8dee9 }}
    .prompt {{ fill: #ffffff; font-weight: bold }} .result {{ fill: #a3e08c }}</style>
  <rect width="{width}" height="{height}" rx="8" fill="#1b2129"/>
  {dots}
{shown}
</svg>"""


def main() -> None:
    lines = wrapped(demo(sys.argv[1]))
    kind = lambda line: "result" if "keys match" in line or line.startswith("shop:") else "output"
    print(svg([("prompt", "$ vesica demo"), *((kind(line), line) for line in lines)]))


main()
