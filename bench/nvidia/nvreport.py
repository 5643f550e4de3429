# SPDX-License-Identifier: MIT
"""Reports of the results: a Markdown page, CSV, and SVG plots, with the standard library only."""
import csv
import html
import math

COLOURS = ["#3366aa", "#cc4444", "#44aa66", "#aa7722", "#7755bb", "#228899", "#666666"]


def number(value, digits=3):
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, str)):
        return str(value)
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{places}f}"


def pair(both, digits=3):
    return "-" if both is None else f"{number(both[0], digits)} to {number(both[1], digits)}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def claim_rows(claims):
    words = {True: "yes", False: "**no**", None: "not measured"}
    return [[c["text"], number(c["value"], 4), c["limit"], words[c["holds"]]] for c in claims]


def page(results):
    """All results, with a section for each case."""
    parts = ["# NVIDIA benchmark\n"]
    for result in results:
        parts.append(f"## {result['title']}\n")
        parts.append(result["about"] + "\n")
        for part in result["tables"]:
            parts.append(table(part["head"], part["rows"]) + "\n")
        if result["claims"]:
            parts.append(table(["what is to be shown", "seen", "wanted", "holds"],
                               claim_rows(result["claims"])) + "\n")
        for note in result["notes"]:
            parts.append(f"- {note}")
        if result["notes"]:
            parts.append("")
        for plot in result["plots"]:
            parts.append(f"![{plot}]({plot})\n")
    return "\n".join(parts)


def write_csv(path, series):
    """A column for each situation, and a row for each sample."""
    with open(path, "w", newline="", encoding="utf-8") as f:
        out = csv.writer(f)
        out.writerow(["situation", "run", "sample", "ns"])
        for name, runs in series.items():
            for r, run in enumerate(runs):
                out.writerows([name, r, i, v] for i, v in enumerate(run))


def _ticks(low, high):
    """Powers of ten, doubled and times five, within the range."""
    found = []
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        found += [m * 10 ** power for m in (1, 2, 5) if low <= m * 10 ** power <= high]
    return found


def cdf_svg(series, title, unit="ms", scale=1e6):
    """The share of requests answered within a time, for each situation, on a logarithmic axis."""
    width, height, left, top, bottom = 760, 420, 60, 40, 60
    lines = {name: sorted(v / scale for v in sum(runs, [])) for name, runs in series.items()}
    lines = {name: values for name, values in lines.items() if values and values[0] > 0}
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{left}" y="22" font-size="15">{html.escape(title)}</text>']
    if not lines:
        return "\n".join(out + ["</svg>"])
    low = min(v[0] for v in lines.values()) * 0.9
    high = max(v[-1] for v in lines.values()) * 1.1
    plot_w, plot_h = width - left - 180, height - top - bottom

    def x(value):
        return left + plot_w * (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))

    def y(share):
        return top + plot_h * (1 - share)

    for share in (0, 0.25, 0.5, 0.75, 0.99):
        out.append(f'<line x1="{left}" x2="{left + plot_w}" y1="{y(share):.1f}" '
                   f'y2="{y(share):.1f}" stroke="#ddd"/><text x="{left - 8}" '
                   f'y="{y(share) + 4:.1f}" text-anchor="end">{share * 100:g} %</text>')
    for tick in _ticks(low, high):
        out.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{top}" y2="{top + plot_h}" '
                   f'stroke="#eee"/><text x="{x(tick):.1f}" y="{top + plot_h + 18}" '
                   f'text-anchor="middle">{tick:g}</text>')
    out.append(f'<text x="{left + plot_w / 2}" y="{height - 14}" text-anchor="middle">{unit}</text>')
    for i, (name, values) in enumerate(lines.items()):
        step = max(1, len(values) // 400)
        keep = list(range(0, len(values), step)) + [len(values) - 1]
        points = " ".join(f"{x(values[k]):.1f},{y((k + 1) / len(values)):.1f}" for k in keep)
        colour = COLOURS[i % len(COLOURS)]
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        row = top + 16 + 20 * i
        out.append(f'<rect x="{left + plot_w + 14}" y="{row - 9}" width="12" height="12" '
                   f'fill="{colour}"/><text x="{left + plot_w + 32}" y="{row + 2}">'
                   f'{html.escape(name)}</text>')
    return "\n".join(out + ["</svg>"])
