"""``censquant compare``: the same folds for all, intervals, paired tests."""

import numpy as np
import pandas as pd
import pytest
from in_process import run
from test_fit_command import TARGET, fleet

from censquant.metrics import compare

QUICK = ("--folds", 3, "--resamples", 40, "--jobs", 1)


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = fleet(120, seed=2)
    frame.loc[[3, 50], "temp"] = np.nan
    frame.to_csv("fleet.csv", index=False)
    return frame


def test_methods_and_peers_meet_on_messy_data(shell):
    methods = "cox,kaplan_meier,lifelines_weibull"
    done = run("compare", "fleet.csv", *TARGET, "--methods", methods, *QUICK, "-o", "scores.csv")
    assert done.code == 0, done.err
    for words in ("lifelines_weibull", "3-fold cross-validation on 120 rows", "p = 0."):
        assert words in done.out
    scores = pd.read_csv("scores.csv").set_index(["method", "metric"])
    loss = scores.xs("pinball_loss_censored", level="metric")
    assert loss.loc["kaplan_meier", "difference_lower"] > 0
    assert loss.loc["kaplan_meier", "p_value"] <= 2 * 2 / 41 + 1e-12
    assert np.isnan(loss.loc["cox", "difference"])
    assert loss.loc["cox", "lower"] < loss.loc["cox", "value"] < loss.loc["cox", "upper"]


def test_json_has_every_score(shell):
    told = run(
        "compare", "fleet.csv", *TARGET, "--methods", "cox,kaplan_meier", *QUICK, "--json"
    ).json
    assert [row["method"] for row in told["rows"]] == ["cox", "kaplan_meier"]
    assert told["reference"] == "cox"
    assert 0 <= told["censoring_p_value"] <= 1
    assert [score["metric"] for score in told["rows"][0]["scores"]] == [
        "log_score",
        "pinball_loss_censored",
        "concordance_restricted_mean",
        "a_calibration_p_value",
    ]


def test_censoring_that_depends_on_the_features_is_noted(shell):
    note = (
        "Censoring depends on the features (p < 0.001), so the pinball loss may prefer a wrong "
        "method: compare by the log score, which needs no model of censoring."
    )
    ask = "compare", "fleet.csv", *TARGET, "--methods", "kaplan_meier", *QUICK
    assert note not in " ".join(run(*ask).err.split())
    frame, rng = shell.copy(), np.random.default_rng(0)
    end = frame["temp"].fillna(60.0) ** 4 / 60**4 * 700 * rng.uniform(0.8, 1.2, len(frame))
    frame["failed"] *= frame["days"] <= end
    frame["days"] = np.minimum(frame["days"], end).round(1)
    frame.to_csv("fleet.csv", index=False)
    assert note in " ".join(run(*ask).err.split())


def test_groups_are_never_divided(shell):
    class Remembers:
        """Knows which group it has seen."""

        def fit(self, X, y):
            self.seen = set(X[:, 0])
            return self

        def predict_quantiles(self, X, quantiles):
            assert not self.seen & set(X[:, 0])
            return np.ones((len(X), len(quantiles))) * quantiles

    labels = np.repeat(np.arange(30), 4)
    found = compare({"own": Remembers()}, labels[:, None].astype(float),
                    (shell["days"], shell["failed"]),
                    groups=labels, cv=3, n_resamples=5)  # fmt: skip
    assert found["own"].error == ""


def test_a_method_that_fails_holds_back_no_other(shell):
    class Broken:
        def fit(self, X, y):
            raise RuntimeError("out of order\nat the second line")

    from censquant import CoxQuantileRegressor

    methods = {"broken": Broken(), "cox": CoxQuantileRegressor()}
    found = compare(methods, shell[["temp", "site"]], (shell["days"], shell["failed"]), cv=2,
                    n_resamples=5)  # fmt: skip
    assert found["broken"].error == "RuntimeError: out of order"
    assert found["broken"].scores == ()
    assert np.isfinite(found["cox"]["pinball_loss_censored"].value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--methods", "coxx"), "There is no method 'coxx'; did you mean cox?"),
        (("--methods", ","), "--methods must name at least one method, got none."),
        (
            ("--methods", "cox", "--folds", 100),
            "--folds must be at most the number of rows with an ev",
        ),
        (("--methods", "cox", "-o", "x.txt"), "--output must end with .csv, got 'x.txt'."),
        (("--methods", "cox", "-o", "fleet.csv"), "'fleet.csv' exists already and is not overwr"),
    ],
)
def test_wrong_options_of_compare_are_one_sentence(shell, options, sentence):
    assert run("compare", "fleet.csv", *TARGET, *options).error.startswith(sentence)
