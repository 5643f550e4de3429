# SPDX-License-Identifier: MIT
"""Plots series over time as SVG, one panel below the other, with the standard library only."""
import html
import math

WIDTH, HEIGHT, LEFT, TOP, GAP = 960, 150, 80, 40, 34
COLOURS = ["#3366aa", "#cc4444", "#44aa66"]


def rounded_up(value):
    """The next number whose half is short, too."""
    decade = 10 ** math.floor(math.log10(value))
    return next(n * decade for n in (1, 2, 4, 6, 8, 10) if n * decade >= value)


class Panel:
    """A panel: series of (time, value), a unit, and a bound that is drawn as a line. A value of None
    is a gap in the line."""

    def __init__(self, title, series, bound=None, logarithmic=False):
        self.title, self.series, self.bound = title, series, bound
        self.logarithmic = logarithmic
        values = [v for points in series.values() for _, v in points if v is not None]
        values += [bound] if bound else []
        self.most = rounded_up(max(values, default=1) or 1)
        least = min((v for v in values if v > 0), default=self.most / 10)
        self.least = 10 ** math.floor(math.log10(least)) if logarithmic else 0
        if logarithmic:
            self.most = max(10 ** math.ceil(math.log10(self.most)), 10 * self.least)

    def height_of(self, value):
        """From 0, at the bottom, to 1."""
        if not self.logarithmic:
            return value / self.most
        value = max(value, self.least)
        return math.log10(value / self.least) / math.log10(self.most / self.least)

    def ticks(self):
        if not self.logarithmic:
            return [0, self.most / 2, self.most]
        decades = round(math.log10(self.most / self.least))
        return [self.least * 10 ** i for i in range(0, decades + 1)]


def text(x, y, words, anchor="start", size=12, colour="#222"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{colour}">{html.escape(words)}</text>')


def line(x1, y1, x2, y2, colour, extra=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" {extra}/>'


def paths(points, at_x, at_y, colour):
    """A line for each run of values without a gap."""
    runs, run = [], []
    for t, value in [*points, (None, None)]:
        if value is not None:
            run.append(f"{at_x(t):.1f},{at_y(value):.1f}")
        elif run:
            runs.append(run)
            run = []
    return [f'<polyline points="{" ".join(r)}" fill="none" stroke="{colour}" stroke-width="1.2"/>'
            for r in runs]


def draw_panel(panel, top, at_x, right):
    def at_y(value):
        return top + HEIGHT * (1 - panel.height_of(value))

    out = [text(LEFT, top - 8, panel.title, size=13)]
    for tick in panel.ticks():
        out.append(line(LEFT, at_y(tick), right, at_y(tick), "#ddd"))
        out.append(text(LEFT - 6, at_y(tick) + 4, f"{tick:g}", "end", 11, "#666"))
    if panel.bound is not None:
        y = at_y(panel.bound)
        out.append(line(LEFT, y, right, y, "#aa2222", 'stroke-dasharray="6 4"'))
    for i, (name, points) in enumerate(panel.series.items()):
        colour = COLOURS[i % len(COLOURS)]
        out += paths(points, at_x, at_y, colour)
        out.append(text(right - 90 * (len(panel.series) - i) + 20, top - 8, name, colour=colour))
    return out


def draw(title, panels, phases, marks, seconds):
    """The text of an SVG file. phases: (name, begin, end); marks: times of events."""
    bottom = TOP + 30 + len(panels) * (HEIGHT + GAP)
    right = WIDTH - 20

    def at_x(t):
        return LEFT + (right - LEFT) * t / seconds

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{bottom + 30}" '
           f'font-family="sans-serif">', f'<rect width="{WIDTH}" height="{bottom + 30}" fill="#fff"/>',
           text(LEFT, 20, title, size=15)]
    for i, (name, begin, end) in enumerate(phases):
        out.append(f'<rect x="{at_x(begin):.1f}" y="{TOP}" width="{at_x(end) - at_x(begin):.1f}" '
                   f'height="{bottom - TOP - GAP + 18}" fill="{"#f4f4ee" if i % 2 else "#fafaff"}"/>')
        out.append(text(at_x(begin) + 4, TOP + 12, name, size=11, colour="#555"))
    for t in marks:
        out.append(line(at_x(t), TOP + 16, at_x(t), bottom - GAP + 10, "#ccaa55",
                        'stroke-dasharray="1 4"'))
    for i, panel in enumerate(panels):
        out += draw_panel(panel, TOP + 44 + i * (HEIGHT + GAP), at_x, right)
    step = rounded_up(seconds) // 10 or 1
    for t in range(0, int(seconds) + 1, int(step)):
        out.append(text(at_x(t), bottom + 22, f"{t} s", "middle", 11))
    return "\n".join([*out, "</svg>", ""])
