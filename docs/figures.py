"""Draw the pictures of the first pages into docs/images: ``python docs/figures.py``."""

from pathlib import Path

import matplotlib as mpl
import numpy as np

from censquant import CensoredQuantileRegressor
from censquant.datasets import load_gbsg2
from censquant.plotting import plot_fans
from censquant.survival import kaplan_meier

mpl.use("agg")

import matplotlib.pyplot as plt

IMAGES = Path(__file__).parent / "images"
MONTH = 30.4375  # days
BLUE, ORANGE, GREY = "#08306b", "#d55e00", "#8a8a8a"


def saved(draw):
    """Draw into new axes and save them under the name of the function."""
    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    draw(axes)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(IMAGES / f"concept_{draw.__name__}.png", dpi=130, metadata={"Software": None})
    plt.close(figure)


def fleet(n=5000):
    """Weibull times with a median of 8.3, records that end uniformly by 12."""
    rng = np.random.default_rng(0)
    event_time, end = 10.0 * rng.weibull(2.0, n), rng.uniform(0.0, 12.0, n)
    return event_time, np.minimum(event_time, end), event_time <= end


def censoring(axes):
    """Eight individuals by calendar time."""
    starts = np.array([0.0, 0.8, 1.5, 2.2, 3.0, 3.6, 4.4, 5.2])
    lives = np.array([2.5, 6.0, 1.2, 9.0, 2.6, 3.9, 3.0, 1.4])
    leaves = np.array([np.inf, np.inf, np.inf, np.inf, np.inf, 1.9, np.inf, np.inf])
    end_of_study = 7.0
    seen = np.minimum.reduce([starts + lives, starts + leaves, np.full(8, end_of_study)])
    event = seen == starts + lives
    for row, (start, last, happened) in enumerate(zip(starts, seen, event, strict=True)):
        axes.plot([start, last], [row, row], color=BLUE, lw=2)
        style = {"marker": "o", "color": ORANGE} if happened else {"marker": ">", "color": "white"}
        axes.plot(last, row, ms=8, mec=ORANGE, **style)
    axes.axvline(end_of_study, color=GREY, ls="--")
    axes.text(end_of_study + 0.1, -0.7, "end of the study", color=GREY)
    axes.text(seen[5] + 0.15, 5, "left: censored", va="center")
    axes.text(end_of_study + 0.15, 3, "still event-free: censored", va="center")
    axes.text(seen[0] + 0.2, 0, "event observed", va="center")
    axes.set(xlabel="calendar time", yticks=[], xlim=(-0.2, 9.4), ylim=(7.6, -1.5))


def bias(axes):
    """Two wrong estimates from censored times, and a right one."""
    event_time, time, event = fleet()
    axes.hist(event_time, bins=60, color="#dbe5ee", density=True, label="true event times")
    axes.hist(
        time[event], bins=40, histtype="step", color=ORANGE, density=True, label="observed events"
    )
    marks = {
        "median of observed events": (np.median(time[event]), ORANGE, "-"),
        "median of all times": (np.median(time), GREY, "-"),
        "Kaplan-Meier": (kaplan_meier(time, event).quantile([0.5])[0], BLUE, "-"),
        "true median": (10.0 * np.sqrt(np.log(2.0)), "black", ":"),
    }
    for label, (place, colour, style) in marks.items():
        axes.axvline(place, color=colour, ls=style, lw=2, label=label)
    axes.set(xlabel="time", yticks=[], xlim=(0, 25))
    axes.legend(frameon=False, fontsize=8)


def quantiles(axes):
    """From levels to times, and from a time to a probability."""
    time = np.linspace(0, 24, 300)
    axes.plot(time, 1 - np.exp(-((time / 10.0) ** 2)), color=BLUE, lw=2)
    for level in (0.1, 0.5, 0.9):
        place = 10.0 * np.sqrt(-np.log(1 - level))
        axes.plot([0, place, place], [level, level, 0], color=ORANGE, ls="--", lw=1)
        axes.text(place + 0.2, 0.03, f"q{level} = {place:.1f}", color=ORANGE)
    at = 12.3
    chance = 1 - np.exp(-((at / 10.0) ** 2))
    axes.plot([at, at, 24], [0, chance, chance], color=GREY, ls=":", lw=1)
    axes.text(at + 0.2, 0.3, f"survival at {at:.0f}:\n{1 - chance:.2f}", color=GREY)
    axes.set(
        xlabel="time", ylabel="probability of an event\nby this time", ylim=(0, 1.02), xlim=(0, 24)
    )


def identified(axes):
    """Survival that follow-up shows only in part."""
    _, time, event = fleet()
    curve = kaplan_meier(time, event)
    axes.step(curve.time, curve.survival, where="post", color=BLUE, lw=2, label="Kaplan-Meier")
    last = curve.survival[-1]
    axes.fill_between([12, 20], 0, last, facecolor="#f3f8fb", edgecolor=GREY, hatch="/////", lw=0)
    axes.axvline(12, color=GREY, ls="--")
    axes.text(12.2, 0.85, "end of follow-up", color=GREY)
    words = (
        f"anything below {last:.2f} is possible:\nlevels above {1 - last:.2f} are not identified"
    )
    axes.text(12.4, last + 0.04, words)
    axes.set(xlabel="time", ylabel="event-free", ylim=(0, 1.02), xlim=(0, 20))


def landing():
    """Predictions for six patients, on a light and on a dark page."""
    X, y = load_gbsg2()
    y["time"] /= MONTH
    model = CensoredQuantileRegressor(random_state=0).fit(X[:500], y[:500])
    rows = [516, 504, 500, 515, 538, 502]
    some = X.iloc[rows]
    names = [
        f"age {age:.0f}, {nodes:.0f} node{'s' * (nodes > 1)}"
        for age, nodes in zip(some["age"], some["pnodes"], strict=True)
    ]
    for name, style in (("light", "default"), ("dark", "dark_background")):
        with plt.style.context(style), mpl.rc_context({"font.size": 12}):
            figure, axes = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
            plot_fans(model, some, labels=names, unit="months", y=y[rows], until=84.0, ax=axes)
            path = IMAGES / f"landing_{name}.png"
            figure.savefig(path, dpi=130, transparent=True, metadata={"Software": None})
            plt.close(figure)


if __name__ == "__main__":
    landing()
    for draw in (censoring, bias, quantiles, identified):
        saved(draw)
