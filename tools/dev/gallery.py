#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The pictures of scenarios/*.md (`make gallery`): a page that has `![Title](name.svg)` gets the
figure of that title from the report of name.yaml, as a picture of its own that follows light and
dark. `gallery.py UROCE [NAME...]`: all scenarios, or those named.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "scenarios"
PICTURE = re.compile(r"!\[([^\]]+)\]\(([\w-]+)\.svg\)")
FIGURE = re.compile(r"<figure><figcaption>(.*?)</figcaption>\s*(<svg .*?</svg>)\s*"
                    r"(<ul class=\"legend\">.*?</ul>)?", re.S)
HEAD = 26  # pixels for the title above the figure, for each row of the legend below it
LEGEND_ROW = 18
LETTER = 6.6  # width of one, about


def report(uroce, name):
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder, "page.html")
        done = subprocess.run([uroce, "sim", SCENARIOS / f"{name}.yaml", "--html", page],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        # A scenario may be about messages that arrive wrong.
        if done.returncode and not done.stderr.endswith(" messages arrived wrong\n"):
            raise SystemExit(f"{name}: {done.stderr}")
        return page.read_text()


def legend(items, width, top):
    """The legend of the page, as rows of text; and where it ends."""
    x, y, out = 8, top, []
    for kind, text in items:
        wide = 22 + len(text) * LETTER
        if x + wide > width and x > 8:
            x, y = 8, y + LEGEND_ROW
        out.append(f'<rect class="{kind} key" x="{x:.0f}" y="{y - 9}" width="10" height="10" '
                   f'rx="2"/><text x="{x + 15:.0f}" y="{y}">{text}</text>')
        x += wide
    return "\n".join(out), y + 8


def style(page):
    css = re.search(r"<style>(.*?)</style>", page, re.S).group(1)
    print_at = css.index("@media print")
    heat = "".join(f"rect.h{i} {{ fill: var(--h{i}); }}" for i in range(5))
    return css[:print_at] + heat + "rect.broken { fill: var(--soft); }"


def picture(page, wanted):
    for title, svg, keys in FIGURE.findall(page):
        if title.startswith(wanted):
            break
    else:
        raise SystemExit(f"no figure begins with {wanted!r}")
    box = re.search(r'viewBox="0 0 (\d+) (\d+)"', svg)
    width, height = int(box.group(1)), int(box.group(2))
    body = svg[svg.index(">") + 1:svg.rindex("</svg>")]
    items = re.findall(r'<li class="(\w+)">(.*?)</li>', keys or "")
    rows, end = legend(items, width, HEAD + height + 12) if items else ("", HEAD + height)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {end}" '
            f'width="{width}" height="{end}">\n<style>{style(page)}</style>\n'
            f'<rect x="0" y="0" width="{width}" height="{end}" style="fill: var(--panel)"/>\n'
            f'<text class="node" x="8" y="18" font-weight="600">{title}</text>\n'
            f'<g transform="translate(0 {HEAD})">{body}</g>\n{rows}\n</svg>\n')


def main():
    uroce, *names = sys.argv[1:]
    for page in sorted(SCENARIOS.glob("*.md")):
        for title, name in PICTURE.findall(page.read_text()):
            if names and name not in names:
                continue
            svg = picture(report(uroce, name), title)
            (SCENARIOS / f"{name}.svg").write_text(svg)
            print(f"scenarios/{name}.svg: {title}, {len(svg) // 1000} kB")


if __name__ == "__main__":
    main()
