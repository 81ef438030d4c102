"""chart.svg: bars for each case and program, wall time (with its range), peak memory, file."""

import statistics

from .cases import OURS
from .summary import peak_text

PANELS = [("wall", "seconds", 1), ("peak", "peak memory, MB", 1e6), ("file", "file, MB", 1e6)]
LEFT, WIDTH, BAR, GAP = 120, 210, 16, 6

STYLE = """<style>
  svg { background: #ffffff; font: 12px system-ui, sans-serif }
  text { fill: #24292f } .title { font-weight: 600; font-size: 14px } .label { fill: #57606a }
  .ours { fill: #1a7f5a } .other { fill: #afb8c1 } .range { stroke: #24292f; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) {
    svg { background: #0d1117 } text { fill: #e6edf3 } .label { fill: #8d96a0 }
    .ours { fill: #3fb98a } .other { fill: #545d68 } .range { stroke: #e6edf3 }
  }
</style>"""


def chart(results, cases):
    parts = []
    y = 30
    for case in cases:
        if not case.chart or not results.has(case.name):
            continue
        names = list(case.commands)
        parts.append(f'<text class="title" x="10" y="{y}">{escaped(case.title)}</text>')
        y += 18
        for panel in range(len(PANELS)):
            parts += bars(results, case.name, names, panel, y)
        y += 10 + len(names) * (BAR + GAP) + 26
    total = LEFT + 3 * (WIDTH + 60) - 30
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {y - 16}" \
width="{total}" height="{y - 16}" role="img" aria-label="Times, memory and file sizes">
{STYLE}
{chr(10).join(parts)}
</svg>
"""


def bars(results, case, names, panel, y):
    key, label, unit = PANELS[panel]
    x = LEFT + panel * (WIDTH + 60)
    top = max(max(results.values(case, name, key)) for name in names) / unit
    scale = (WIDTH - 45) / top if top else 0
    yield f'<text class="label" x="{x}" y="{y}">{label}</text>'
    for index, name in enumerate(names):
        values = [value / unit for value in results.values(case, name, key)]
        middle, line = statistics.median(values), y + 10 + index * (BAR + GAP)
        kind = "ours" if name.startswith(OURS) else "other"
        end = x + middle * scale
        if panel == 0:
            yield f'<text x="{LEFT - 8}" y="{line + 12}" text-anchor="end">{name}</text>'
        yield (f'<rect class="{kind}" x="{x}" y="{line}" width="{middle * scale:.1f}" '
               f'height="{BAR}" rx="2"/>')
        text = f"{middle:.1f}"
        if panel == 0:
            low, high = (x + edge * scale for edge in (min(values), max(values)))
            yield f'<path class="range" d="M{low:.1f} {line + BAR / 2}H{high:.1f}"/>'
            end, text = max(end, high), f"{middle:.3g}"
        elif key == "peak" and peak_text(middle * unit).startswith("≤"):
            text = f"≤ {text}"
        yield f'<text x="{end + 5:.1f}" y="{line + 12}">{text}</text>'


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
