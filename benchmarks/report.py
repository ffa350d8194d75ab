# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `run` writes of its rows: a table, the goals beside what was reached, and a plot."""

import itertools
import json
import pathlib
import statistics

import machine

GOALS = pathlib.Path(__file__).resolve().parent / "goals.json"


def goals():
    """Workload, policy and ratio of each goal."""
    return {(goal["workload"], goal["policy"], goal["ratio"]) for goal in json.loads(GOALS.read_text())}


def median_ratio(first, second):
    """Of what took turns: ratios within rounds, since a host's speed changes from round to round."""
    return statistics.median(a / b for a, b in zip(first, second))


def ratios_of(row):
    """By name: what goals are about, as far as this row tells."""
    rounds, found = row["rounds_ms"], {}
    mine = rounds["mpc"]
    peers = [median_ratio(times, mine) for name, times in rounds.items() if not name.startswith("mpc")]
    if peers:
        found["peers"] = min(peers)
    if row["floors_ms"]:
        found["floor"] = median_ratio(mine, row["floors_ms"])
    if "mpc-float32" in rounds:
        found["float32"] = median_ratio(rounds["mpc-float32"], mine)
    return found


RATIOS = {"peers": ("best peer / mpc", "at least"), "floor": ("mpc / floor", "at most"), "float32": ("own float32 / mpc", "at least")}


def goals_met(rows):
    """Lines: each goal of benchmarks/goals.json for this kind of CPU that these rows can answer."""
    kind = "amx" if machine.has_amx() else "others"
    row_of = {(row["workload"], row["policy"]): row for row in rows}
    lines = []
    for goal in json.loads(GOALS.read_text()):
        row = row_of.get((goal["workload"], goal["policy"]))
        reached = ratios_of(row).get(goal["ratio"]) if row else None
        if reached is None:
            continue
        what, bound = RATIOS[goal["ratio"]]
        met = round(reached, 2) >= goal[kind] if bound == "at least" else round(reached, 2) <= goal[kind]
        lines.append(f"| {goal['workload']} | {goal['policy']} | {what} | {bound} {goal[kind]} | {reached:.2f} | {'yes' if met else 'no'} |")
    return ["", "| workload | policy | ratio | goal | measured | reached |", "|---" * 6 + "|", *lines] if lines else []


def rates(rows):
    """Lines: gigaflops per second of each product of the floors, by oneDNN and by mpc."""
    lines = [f"| {row['workload']} | {row['policy']} | {shape} | {ways['onednn']:.0f} | {ways['mpc']:.0f} |" for row in rows for shape, ways in row["products_gflops"].items()]
    return ["", "| workload | policy | rows x terms x columns | oneDNN: GF/s | mpc: GF/s |", "|---" * 5 + "|", *lines] if lines else []


def table(rows, names, about):
    limits = [limit for row in rows for limit in row["ceilings"]]
    lines = ["# mpc beside its peers", "", f"Made by `{about['command']}` on {about['cpu']}, {about['threads']} threads. Milliseconds per step, medians over interleaved rounds; ratios are medians of those within rounds.",
             machine.surroundings_line(about),
             "The floor is the step's matrix products alone, each by oneDNN or by mpc, whichever is faster, and the optimizer's bytes at the rate of a triad, in the same run."
             " A step may be below it: the products alone write gradients to memory that an update takes from the cache.",
             *([machine.ceilings_line(limits)] if limits else []), "",
             "| workload | policy | " + " | ".join(names) + " | best peer / mpc | floor | mpc / floor |", "|---" * (len(names) + 5) + "|"]  # fmt: skip
    for row in rows:
        ms = row["ms"]
        shown = {name: f"{value:.2f}" for name, value in ratios_of(row).items()}
        cells = [row["workload"], row["policy"], *[f"{ms[name]:.2f}" if name in ms else "-" for name in names],
                 shown.get("peers", "-"), f"{row['floor_ms']:.2f}" if row["floor_ms"] else "-", shown.get("floor", "-")]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    lines += goals_met(rows)
    lines += ["", "| workload | policy | " + " | ".join(f"{name}: peak MiB" for name in names) + " |", "|---" * (len(names) + 2) + "|"]
    for row in rows:
        peaks = [f"{row['bytes_peak'][name] / 2**20:.0f}" if name in row["bytes_peak"] else "-" for name in names]
        lines.append("| " + " | ".join([row["workload"], row["policy"], *peaks]) + " |")
    lines += rates(rows)
    return "\n".join(lines) + "\n"


def plot(rows, names):
    """Step times as bars, in units of the slowest program of each workload; the floor as a line."""
    colours = dict(zip(names, itertools.cycle(["#1f6feb", "#8b949e", "#b0b7be", "#d29922", "#8957e5", "#1a7f37", "#bf3989"])))
    height, width, left = 16, 460, 190
    parts, y = [], 20
    for row in rows:
        most = max(row["ms"].values())
        parts.append(f'<text x="4" y="{y + 11}" font-weight="bold">{row["workload"]} {row["policy"]}</text>')
        y += height
        for name in names:
            if name not in row["ms"]:
                continue
            value = row["ms"][name]
            parts.append(f'<text x="{left - 8}" y="{y + 11}" text-anchor="end">{name}</text><rect x="{left}" y="{y}" height="{height - 3}" '
                         f'width="{width * value / most:.1f}" fill="{colours[name]}"/><text x="{left + width * value / most + 4:.1f}" y="{y + 11}">{value:.2f} ms</text>')  # fmt: skip
            y += height
        if row["floor_ms"]:
            x = left + width * row["floor_ms"] / most
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - height * len(row["ms"])}" y2="{y - 3}" stroke="#cf222e" stroke-dasharray="3 2"/>')
        y += 8
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 90}" height="{y}" font-family="sans-serif" font-size="11">'
    return "\n".join([head, f'<rect width="100%" height="100%" fill="white"/><text x="4" y="12">milliseconds per step; dashed: the floor, the products and the bytes of the optimizer alone</text>', *parts, "</svg>"]) + "\n"  # fmt: skip
