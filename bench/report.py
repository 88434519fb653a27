# SPDX-License-Identifier: MIT
"""The results as Markdown.  Pure: it is given all numbers and returns text.

A result is a list of rounds, a round a list of parts (of the epoch, mostly one), a part
a dict: bytes, seconds, samples, cpu, daemon_cpu, server_cpu, peak; fetched, in some.
"""
import json
import statistics

GIB = 1 << 30
MIB = 1 << 20
MAX_OVER_BUDGET = 64 * MIB
MAX_GROWTH = 16 * MIB
MAX_PER_UNREAD = MIB // 16
MAX_LOAD = 0.7


def table(head, rows, align="---"):
    lines = [head, ["---"] + [align] * (len(head) - 1)] + rows
    return "\n".join("| %s |" % " | ".join(line) for line in lines)


def spread(values, form):
    """Median (least..most)."""
    return "%s (%s..%s)" % tuple(form % f(values) for f in (statistics.median, min, max))


def gb_per_s(part):
    return part["bytes"] / part["seconds"] / 1e9


def rates(parts):
    return ", ".join("%.2f GB/s" % gb_per_s(part) for part in parts) or "nothing"


# ---- speed ----


def part_of(rounds, i):
    """Part i of every round; a case with one part has it for all."""
    return [parts[min(i, len(parts) - 1)] for parts in rounds]


def ratios(results, case, against, i):
    """A case's rate for another's, round by round: a machine that slows down slows both."""
    if case not in results or against not in results:
        return []
    pairs = zip(part_of(results[case], i), part_of(results[against], i))
    return [gb_per_s(a) / gb_per_s(b) for a, b in pairs]


def cpu_ratios(results, case, against, i):
    """The daemon's seconds of CPU a byte for another reader's own, round by round."""
    if case not in results or against not in results:
        return []
    pairs = zip(part_of(results[case], i), part_of(results[against], i))
    return [a["daemon_cpu"] / a["bytes"] / (b["cpu"] / b["bytes"]) for a, b in pairs]


def cpu_per_gib(parts, who):
    return statistics.median(part[who] / (part["bytes"] / GIB) for part in parts)


def part_name(group, i, n, scale):
    if n == 1:
        return ""
    return ": %s %.3g GiB" % ("the first" if i == 0 else "the next", group.part_bytes[i] * scale / GIB)


def speed_row(group, results, case, i, scale):
    parts = part_of(results[case], i)
    peak = max(part["peak"] for part in parts)
    row = [
        case + part_name(group, i, len(results[case][0]), scale),
        spread([gb_per_s(part) for part in parts], "%.2f"),
        "{:,.0f}".format(statistics.median(part["samples"] / part["seconds"] for part in parts)),
    ]
    row += ["%.2f" % cpu_per_gib(parts, who) for who in ("cpu", "daemon_cpu", "server_cpu")]
    row.append("%d" % (peak / MIB) if peak else "")
    if counts_fetched(results):
        row.append(spread([part["fetched"] for part in parts], "%.2f") if "fetched" in parts[0] else "")
    for against in group.against:
        values = ratios(results, case, against, i)
        row.append(spread(values, "%.2f") if values and against != case else "")
    return row


def counts_fetched(results):
    return any("fetched" in rounds[0][0] for rounds in results.values())


def speed_table(group, results, scale):
    head = ["case", "GB/s", "samples/s", "CPU s/GiB: reader", "daemon", "nginx", "daemon's peak, MiB"]
    if counts_fetched(results):
        head[1:3] = ["GB/s of all readers", "their samples/s"]
        head.append("times that each byte was fetched")
    head += ["÷ " + against for against in group.against]
    rows = [
        speed_row(group, results, case, i, scale)
        for case in results
        for i in range(len(results[case][0]))
    ]
    return table(head, rows, "---:")


# ---- memory ----


def mib(n_bytes):
    return "%.0f" % (n_bytes / MIB)


def mount_name(row):
    return "%s, %s" % ("local" if row["over"] == "file" else "HTTP", row["options"] or "default")


def growth(peaks):
    """How much higher the last half's peak is than the first half's."""
    half = len(peaks) // 2
    return max(peaks[half:]) - max(peaks[:half])


def epochs_table(epochs):
    head = ["mount", "budget, MiB", "peak of each epoch, MiB", "highest less budget", "growth", "RSS in the end"]
    rows = [
        [
            mount_name(row),
            mib(row["budget"]),
            " ".join(mib(peak) for peak in row["peaks"]),
            mib(max(row["peaks"]) - row["budget"]),
            mib(growth(row["peaks"])),
            mib(row["rss"]),
        ]
        for row in epochs
    ]
    return table(head, rows, "---:")


def unread_table(unread, n_unread=50):
    head = ["mount", "budget, MiB", "RSS before", "with %d open" % n_unread, "KiB a stream"]
    head.append("peak, an epoch read beside them")
    rows = [
        [
            mount_name(row),
            mib(row["budget"]),
            "%.1f" % (row["before"] / MIB),
            "%.1f" % (row["opened"] / MIB),
            "%.1f" % (per_unread(row, n_unread) / 1024),
            mib(row["peak"]),
        ]
        for row in unread
    ]
    return table(head, rows, "---:")


def per_unread(row, n_unread=50):
    return (row["opened"] - row["before"]) / n_unread


# ---- targets ----


def verdict(is_so):
    return "met" if is_so else "MISSED"


def grade(value, target):
    """met against must, and against goal if there is one."""
    meets = (lambda wanted: value <= wanted) if target.of == "cpu" else (lambda wanted: value >= wanted)
    if not meets(target.must):
        return "MISSED"
    if target.goal is None:
        return "met"
    return "goal met" if meets(target.goal) else "met, goal missed"


def target_row(target, text, values):
    sign, what = ("≤", "CPU of ") if target.of == "cpu" else ("≥", "")
    row = [text, "%s %g × %s%s" % (sign, target.must, what, target.against)]
    row.append("" if target.goal is None else "%s %g" % (sign, target.goal))
    if not values:
        return row + ["not measured", ""]
    return row + [spread(values, "%.2f"), grade(statistics.median(values), target)]


def speed_targets(targets, groups, results, scale):
    by_key = {group.key: group for group in groups}
    for target in targets:
        group, of_group = by_key[target.group], results[target.group]
        n_parts = len(of_group[target.case][0]) if target.case in of_group else 1
        ratios_of = cpu_ratios if target.of == "cpu" else ratios
        for i in range(n_parts):
            text = target.text + part_name(group, i, n_parts, scale)
            yield target_row(target, text, ratios_of(of_group, target.case, target.against, i))


def budget_target(text, peak, budget):
    over = peak - budget
    ok = verdict(over <= MAX_OVER_BUDGET)
    return [text, "peak ≤ budget + 64 MiB", "", "budget %+.0f MiB" % (over / MIB), ok]


def memory_targets(epochs, unread):
    for row in epochs:
        text = "ten epochs, " + mount_name(row)
        yield budget_target(text, max(row["peaks"]), row["budget"])
        grown = growth(row["peaks"])
        wanted = "flat: last five's peak ≤ first five's + 16 MiB"
        yield [text, wanted, "", "%+.0f MiB" % (grown / MIB), verdict(grown <= MAX_GROWTH)]
    for row in unread:
        text = "unread streams, " + mount_name(row)
        cost = per_unread(row)
        yield [text, "≤ 64 KiB each", "", "%.1f KiB" % (cost / 1024), verdict(cost <= MAX_PER_UNREAD)]
        yield budget_target(text + ", and one read", row["peak"], row["budget"])
    if not epochs and not unread:
        yield ["memory", "peak ≤ budget + 64 MiB, flat", "", "not measured", ""]


# ---- lines for plots ----


def lines(groups, results, scale):
    """Medians, a dict each: case (a group of the run), group (a case in it), x (what of it)."""
    for group in groups:
        for case, rounds in results[group.key].items():
            for i in range(len(rounds[0])):
                parts, name = part_of(rounds, i), case + part_name(group, i, len(rounds[0]), scale)
                yield line(group, name, "rate", statistics.median(map(gb_per_s, parts)), "GB/s")
                for who, key in (("reader", "cpu"), ("daemon", "daemon_cpu"), ("server", "server_cpu")):
                    yield line(group, name, who, cpu_per_gib(parts, key), "CPU s/GiB")
                if "fetched" in parts[0]:
                    yield line(group, name, "fetched", statistics.median(part["fetched"] for part in parts), "")


def line(group, case, x, value, unit):
    return {"case": group.key, "group": case, "x": x, "value": round(value, 4), "unit": unit}


def write_lines(path, all_lines):
    with open(path, "w") as f:
        f.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in all_lines)


# ---- all of it ----


def heading(machine, scale):
    lines = ["# What was measured", ""]
    if scale != 1.0:
        lines += ["**Shards of %g times their size: to try the bench, not to judge by.**" % scale, ""]
    if float(dict(machine)["load before"]) > MAX_LOAD:
        lines += ["**The machine was not idle before: not to judge by.**", ""]
    return lines


def whole(machine, command, groups, results, epochs, unread, targets, failed, scale):
    lines = heading(machine, scale)
    lines += ["`%s` wrote this; [README.md](README.md) says how to read it." % command, ""]
    lines += [table(["machine", ""], [[name, value] for name, value in machine]), ""]
    rows = list(speed_targets(targets, groups, results, scale)) + list(memory_targets(epochs, unread))
    for group in groups:
        if results[group.key]:
            lines += ["## " + group.title, "", speed_table(group, results[group.key], scale), ""]
    if epochs:
        lines += ["## Memory over ten epochs", "", epochs_table(epochs), ""]
    if unread:
        lines += ["## Streams that are open and not read", "", unread_table(unread), ""]
    if failed:
        lines += ["## Failed", ""]
        lines += ["- %s/%s: %s" % (group, case, why) for (group, case), why in failed.items()] + [""]
    lines += ["## Targets", "", table(["what", "must", "goal", "measured", "verdict"], rows), ""]
    return "\n".join(lines)
