"""The plots of the studies."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

INK = "#333333"
COLOURS = {
    "theory": "#999999",
    "ideal": "#2a9d8f",
    "classic": "#d1495b",
    "local": "#2a6fbb",
    "compact": "#e9a23b",
}


def colour(name):
    return COLOURS.get(name, INK)


def axes(count, width, height):
    figure, all_axes = plt.subplots(1, count, figsize=(width, height), dpi=110)
    for one in all_axes if count > 1 else [all_axes]:
        one.spines[["top", "right"]].set_visible(False)
        one.grid(alpha=0.25)
        one.tick_params(colors=INK)
    return figure, all_axes


def save(figure, path):
    figure.tight_layout()
    figure.savefig(path, metadata={"Software": None})
    plt.close(figure)


def rates(rows, path):
    figure, (left, right) = axes(2, 10.5, 4.2)
    bits = sorted({row["bits_per_key"] for row in rows})
    best = [
        min((row for row in rows if row["bits_per_key"] == one), key=lambda row: row["theory"])
        for one in bits
    ]
    left.plot(bits, [row["theory"] for row in best], color=colour("theory"), lw=3, label="theory")
    for name, marker in (("ideal", "o"), ("classic", "s")):
        shown = [(one, row) for one, row in zip(bits, best) if row[name] > 0]
        left.errorbar(
            [one for one, _ in shown],
            [row[name] for _, row in shown],
            yerr=[row[name + "_error"] for _, row in shown],
            fmt=marker,
            ms=4,
            color=colour(name),
            label=name + " (measured)",
        )
    left.set_yscale("log")
    left.set_xlabel("bits per key")
    left.set_ylabel("false-positive rate")
    left.set_title("Best k of 1 to 8")
    left.legend(frameon=False)
    for k in (1, 2, 4, 6, 8):
        # Where fewer than 100 false positives are to be expected, noise rules.
        chosen = [row for row in rows if row["k"] == k and row["classic_error"] < row["theory"] / 5]
        right.plot(
            [row["bits_per_key"] for row in chosen],
            [row["classic"] / row["theory"] for row in chosen],
            marker=".",
            label=f"k = {k}",
        )
    right.axhline(1, color=colour("theory"), lw=2)
    right.set_xlabel("bits per key")
    right.set_ylabel("classic / theory")
    right.set_title("Where the delta-rotated probes leave the theory")
    right.legend(frameon=False)
    save(figure, path)


def growth(rows, path):
    figure, one = axes(1, 7, 4.2)
    for layout in dict.fromkeys(row["layout"] for row in rows):
        chosen = [row for row in rows if row["layout"] == layout]
        one.errorbar(
            [row["keys"] for row in chosen],
            [100 * row["false_positive_rate"] for row in chosen],
            yerr=[100 * row["error"] for row in chosen],
            marker="o",
            ms=4,
            color=colour(layout),
            label=layout,
        )
    one.set_xscale("log")
    one.set_ylim(bottom=0)
    one.set_xlabel("keys in one filter")
    one.set_ylabel("false positives, %")
    one.set_title("10 bits per key")
    one.legend(frameon=False)
    save(figure, path)


def hashes(rows, path):
    words = [row for row in rows if row["dataset"] == "words"] or rows
    words = sorted(words, key=lambda row: row["ns_per_key"], reverse=True)
    names = [row["hash"] for row in words]
    figure, (left, right) = axes(2, 10.5, 5)
    left.barh(names, [row["ns_per_key"] for row in words], color=colour("local"))
    left.set_xlabel("ns per key (words)")
    right.barh(names, [100 * row["false_positive_rate"] for row in words], color=colour("classic"))
    right.set_xscale("log")
    right.set_yticklabels([])
    right.set_xlabel("false positives at 10 bits per key, % (words)")
    save(figure, path)
