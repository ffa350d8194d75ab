# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model of steps on several ranks: messages cost as in LogGP (Alexandrov et al., 1995), and a step's messages and waits,
as one run recorded them, are played again with other links and numbers of ranks."""

import math
import statistics

MESSAGES = ("message", "gather")  # of --trace-events
SMALL = 16 << 10  # bytes: below, reductions go by doubling (runtime/collectives/all_reduce.cpp)


def terms(ranks, size):
    """How many messages follow each other in a reduction, and how many bytes: doubling for small arrays, halving for large ones."""
    depth = math.ceil(math.log2(ranks))
    return (depth, depth * size) if size < SMALL else (2 * depth, 2 * size * (1 - 1 / ranks))


def parameters(ranks, points):
    """Seconds of a message's start, the L + 2 o of LogGP, by the smallest of (bytes, seconds) of reductions, and of a byte, its G, by the
    largest: between them buffers of a network and caches have rules of their own."""
    (small, least), (large, most) = min(points), max(points)
    start = least / terms(ranks, small)[0]
    starts, volume = terms(ranks, large)
    return {"start": start, "byte": (most - starts * start) / volume, "points": points}


def seconds_of(link, ranks, size):
    starts, volume = terms(ranks, size)
    return starts * link["start"] + volume * link["byte"]


def recorded(events):
    """The median step of one rank: each message with its bytes and when it began, each wait with the number of the message that it
    ends with. Times are parts of what the rank computed: waits are left out."""
    steps = sorted((event for event in events if event["name"].startswith("step")), key=lambda event: event["dur"])
    step = steps[len(steps) // 2]
    begin, end = step["ts"], step["ts"] + step["dur"]

    def of_step(*names):
        found = [event for event in events if event["name"] in names and begin <= event["ts"] < end]
        return sorted(found, key=lambda event: event["ts"])

    messages, waits = of_step(*MESSAGES), of_step("wait")

    def computed(time):
        return time - begin - sum(min(wait["dur"], max(0.0, time - wait["ts"])) for wait in waits)

    whole = computed(end)
    ends = []
    for wait in waits:
        over = [number for number, message in enumerate(messages) if message["ts"] + message["dur"] <= wait["ts"] + wait["dur"]]
        # Waits come in the order of the messages, one for each of them; where some were not recorded, the last one that was over.
        ends.append(len(ends) if len(waits) == len(messages) else max(over, default=-1))
    return {"messages": [[round(computed(message["ts"]) / whole, 5), message["args"]["bytes"]] for message in messages],
            "waits": [[round(computed(wait["ts"]) / whole, 5), number] for wait, number in zip(waits, ends) if number >= 0]}  # fmt: skip


def overhead(memory, ranks, schedule):
    """CPU seconds of a step's messages: what they take in this machine's memory, where all of it is copies and sums."""
    return sum(seconds_of(memory, ranks, size) for _, size in schedule["messages"])


def played(schedule, link, compute, ranks):
    """Seconds of a step that computes for so long, whose messages go one by one over this link."""
    free, ends = 0.0, []
    late = 0.0  # how much later than without waits the rank is
    calls = sorted([(at, 0, size) for at, size in schedule["messages"]] + [(at, 1, number) for at, number in schedule["waits"]])
    for at, is_wait, value in calls:
        now = at * compute + late
        if not is_wait:
            free = max(free, now) + seconds_of(link, ranks, value)
            ends.append(free)
        elif value < len(ends):
            late += max(0.0, ends[value] - now)
    return compute + late


def summary(events):
    """Medians of a rank's steps: seconds of a step, and of its messages, its waits, its bytes."""
    steps = [event["dur"] * 1e-6 for event in events if event["name"].startswith("step")]
    count = len(steps)

    def total(*names):
        return sum(event["dur"] for event in events if event["name"] in names) * 1e-6 / count

    return [statistics.median(steps[2:]), total(*MESSAGES), total("wait"), sum(event["args"]["bytes"] for event in events if event["name"] in MESSAGES) / count]
