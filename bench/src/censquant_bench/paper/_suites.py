"""The paper's experiments: methods, sets, variants, runs, and their tables and figures."""

from functools import partial

from censquant_bench._suites import Suite, Variant
from censquant_bench.paper._conventions import PaperConventions
from censquant_bench.paper._datasets import ONE_FEATURE, PAPER_DATASET_GROUPS
from censquant_bench.paper._one_feature import draw_one_feature_sets
from censquant_bench.paper._published import PUBLISHED_COLUMNS
from censquant_bench.paper.reporting import (
    grid_figure,
    grid_tables,
    main_figure,
    main_tables,
    partial_full_figure,
    partial_full_tables,
    sequential_tables,
    variants_figure,
    variants_tables,
    ystar_figure,
    ystar_tables,
)
from censquant_bench.reporting import score_tables

_AS_RUN = tuple(PUBLISHED_COLUMNS)
_AS_MEANT = ("cqrnn_interpolated", "deepquantreg", "lognorm", "recommended")

_GRID_SIZES = (9, 19, 39)
_GRID_ROWS = (100, 200, 400, 800, 1600, 3200, 6400, 12800)
_ROWS_SEEN = 500 * 200  # rows times epochs, whatever the sample
_FAR_FACTORS = (1.0, 1.2, 1.5, 2.0, 10.0, 100.0)
_FULL_EPOCHS = (1, 5, 20)

_SYNTHETIC, _OVERLAY, _SURVIVAL = (
    PAPER_DATASET_GROUPS[kind] for kind in ("synthetic", "overlay", "survival")
)

_CONVENTIONS = PaperConventions()


def _even_grid(size: int) -> tuple[float, ...]:
    return tuple(round(k / (size + 1), 3) for k in range(1, size + 1))


PAPER_SUITES = (
    Suite(
        "main",
        "The full table: the paper's 26 sets and five methods as run, and the methods as meant.",
        _SYNTHETIC + _OVERLAY + _SURVIVAL,
        _AS_RUN + _AS_MEANT,
        grouped=True,
        conventions=_CONVENTIONS,
        tables=main_tables,
        figure=main_figure,
    ),
    Suite(
        "sequential",
        "CQRNN against one network per level: training time, size, and paired differences.",
        _SYNTHETIC + _SURVIVAL,
        ("cqrnn", "sequential_grid"),
        {"synthetic": 200, "survival": 50},
        conventions=_CONVENTIONS,
        tables=sequential_tables,
    ),
    Suite(
        "grid",
        "How many levels: M = 9, 19, 39 at 100 to 12,800 rows, as many passed through training.",
        ONE_FEATURE,
        ("cqrnn",),
        n_runs={"synthetic": 100},
        variants=tuple(
            Variant(
                f"M={size}, n={n_rows}",
                {"quantiles": _even_grid(size), "max_epochs": max(1, round(_ROWS_SEEN / n_rows))},
                n_rows,
            )
            for size in _GRID_SIZES
            for n_rows in _GRID_ROWS
        ),
        conventions=_CONVENTIONS,
        tables=grid_tables,
        figure=grid_figure,
    ),
    Suite(
        "ystar",
        "The pseudo-time y*: factors 1 to 100 of the latest observed time.",
        ("norm_heavy", "norm_light", "lognorm_heavy", "lognorm_light"),
        ("cqrnn",),
        variants=tuple(
            Variant(f"y*={factor:g}max", {"y_star": f"{factor:g}max"}) for factor in _FAR_FACTORS
        ),
        conventions=_CONVENTIONS,
        tables=ystar_tables,
        figure=ystar_figure,
    ),
    Suite(
        "crossing",
        "Quantiles that cross: unconstrained, with a penalty, with increasing outputs.",
        _SYNTHETIC,
        ("cqrnn",),
        variants=(
            Variant("free"),
            # The authors' margin, and a strength between theirs for nine levels (10 / 8) and for
            # nineteen (10 / 18).
            Variant("penalty", {"crossing_penalty": 1.0, "crossing_margin": 0.1}),
            Variant("increasing head", {"head": "increasing"}),
        ),
        conventions=_CONVENTIONS,
        tables=partial(variants_tables, title="Remedies for crossing"),
        figure=variants_figure,
    ),
    Suite(
        "interpolation",
        "The level F(c | x) of a censored row: nearest, lower, or between two predictions.",
        _SYNTHETIC,
        ("cqrnn",),
        variants=tuple(
            Variant(rule, {"level_rule": rule}) for rule in ("nearest", "lower", "interpolate")
        ),
        conventions=_CONVENTIONS,
        tables=partial(variants_tables, title="Interpolated and nearest level"),
        figure=variants_figure,
    ),
    Suite(
        "partial_full",
        "Levels updated at every step, or kept for whole epochs while the fit catches up.",
        ("norm_linear",),
        ("cqrnn",),
        variants=(
            Variant("partial", traced=True),
            *(
                Variant(f"full, {n} epoch{'s' * (n > 1)}", {"em_epochs": n}, traced=True)
                for n in _FULL_EPOCHS
            ),
        ),
        conventions=_CONVENTIONS,
        tables=partial_full_tables,
        figure=partial_full_figure,
    ),
    Suite(
        "peers",
        "Other libraries' methods on the same splits and scores.",
        (*_SURVIVAL, "norm_linear", "norm_medium", "lognorm_medium"),
        ("recommended", "cqrnn", "cqrnn_interpolated", "lognorm", "weibull"),
        n_runs={"synthetic": 5, "survival": 5},
        grouped=True,
        with_peers=True,
        conventions=_CONVENTIONS,
        tables=partial(score_tables, title="Scores and times beside other packages"),
    ),
    Suite(
        "figures",
        "Pictures: all methods on the sets with one feature, beside the true quantiles.",
        ONE_FEATURE,
        _AS_RUN,
        draw=draw_one_feature_sets,
    ),
)
"""The paper's experiments, and other libraries' methods on its sets."""
