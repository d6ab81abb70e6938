"""The page holds the facts, fits its limit, and tells of nobody who was not asked for."""

import base64
import hashlib
import json
import re
import sys
import zlib

import numpy as np
import pytest

from censquant import (
    CensoredQuantileForest,
    CensoredQuantileRegressor,
    ConformalSurvivalRegressor,
    CoxQuantileRegressor,
)
from censquant.inspection._cohort import flat_lines
from censquant.report import _facts, write_report
from censquant.report._numbers import NO_BREAK, percent
from report_rows import N_TRAIN, Page, calibrated, calibrated_fleet, machines, new_rows, plain

SHOWN = (0.1, 0.25, 0.5, 0.75, 0.9)


@pytest.fixture(scope="module")
def clinical(tmp_path_factory):
    X, y = new_rows()
    path = tmp_path_factory.mktemp("clinical") / "page.html"
    written = write_report(
        calibrated(), X, y, path, horizons=[300, 900], individuals=[5, 1], n_resamples=10,
        unit="days", title="Hot <b>machines</b> & others",
    )  # fmt: skip
    return written, path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    X, y = new_rows()
    path = tmp_path_factory.mktemp("fleet") / "page.html"
    names = [f'<img src="x" onerror="alert({k})">' for k in range(len(X))]
    written = write_report(
        calibrated(), X, y, path, preset="reliability", n_resamples=10, unit="days",
        early_cost=2.0, late_cost=9.0, as_of="2026-01-31", labels=names,
    )  # fmt: skip
    return written, path.read_text(encoding="utf-8")


def numbers(rows):
    return np.array(rows, dtype=float)


def test_the_tables_of_a_clinical_page_are_its_facts(clinical):
    written, text = clinical
    facts, page = written.facts, Page(text)
    assert set(page.tables) == {
        "characteristics", "cohort", "candidates", "promises", "scores", "levels", "coverage",
        "risks", "risk-calibration", "importance", "individuals", "features",
    }  # fmt: skip
    described = [row[0] for row in page.tables["characteristics"]]
    assert described == [line[0] for line in flat_lines(facts.cohort.characteristics)]
    assert {"events, n (%)", "temp, median (IQR)", "site: north"} <= set(described)
    cohort = [(r.time, r.at_risk, r.events, r.survival, r.low, r.high) for r in facts.cohort.table]
    np.testing.assert_array_equal(numbers(page.tables["cohort"]), cohort)
    levels = [(r.level, r.observed, r.low, r.high, r.identified) for r in facts.levels]
    found = np.column_stack([page.column("levels", k) for k in range(5)])
    np.testing.assert_array_equal(found, levels)
    scores = [(r.value, r.lower, r.upper) for r in facts.evaluation.rows]
    found = np.column_stack([page.column("scores", k) for k in (1, 2, 3)])
    np.testing.assert_array_equal(found, scores)
    covered = [(r.promised, r.estimate, r.low, r.high, r.sure, r.possible, r.n_past, r.n_kept)
               for r in facts.coverage]  # fmt: skip
    found = np.column_stack([page.column("coverage", k) for k in range(1, 9)])
    np.testing.assert_array_equal(found, covered)
    risks = [(r.horizon, r.n_rows, r.predicted, r.lowest, r.highest, r.observed, r.low, r.high,
              r.identified) for r in facts.risks]  # fmt: skip
    found = np.column_stack([page.column("risks", k) for k in (0, *range(2, 10))])
    np.testing.assert_array_equal(found, risks)
    order = facts.importance.order
    assert [row[0] for row in page.tables["importance"]] == [
        facts.importance.features[k] for k in order
    ]
    np.testing.assert_array_equal(page.column("importance", 1), facts.importance.mean[order])
    weights = [row.weight for row in facts.model.candidates]
    np.testing.assert_array_equal(page.column("candidates", 1), weights)
    promises = [(r.confidence, r.estimate, r.standard_error) for r in facts.model.promises]
    found = np.column_stack([page.column("promises", k) for k in (1, 2, 3)])
    np.testing.assert_array_equal(found, promises)
    people = [(one.lower_bound, *one.quantiles, one.identified, *one.risks, one.time)
              for one in facts.individuals]  # fmt: skip
    found = np.column_stack([page.column("individuals", k) for k in range(1, 11)])
    np.testing.assert_array_equal(found, people)


def test_the_tables_of_a_fleet_are_its_facts(fleet):
    written, text = fleet
    facts, page = written.facts, Page(text)
    units = facts.fleet.units
    assert [row[0] for row in page.tables["fleet"]] == [one.label for one in units]
    found = np.column_stack([page.column("fleet", k) for k in (1, 2, 3, 4, 6, 7, 8)])
    due = [np.inf if np.isinf(one.replace_at) else one.replace_in for one in units]
    expected = [
        (one.age, *one.risks[:2], one.remaining_bound, one.remaining50, one.replace_at, time)
        for one, time in zip(units, due, strict=True)
    ]
    np.testing.assert_array_equal(found, expected)
    assert [row[5] for row in page.tables["fleet"]] == [one.bound_date for one in units]
    dates = [one.replace_date or one.advice for one in units]
    assert [row[9] for row in page.tables["fleet"]] == dates
    costs = [(r.risk, r.late, r.late_low, r.late_high, r.service, r.identified, r.cost, r.rate)
             for r in facts.costs]  # fmt: skip
    np.testing.assert_array_equal(numbers([row[1:] for row in page.tables["costs"]]), costs)
    failures = [tuple(row)[:6] for row in facts.fleet.failures.rows]
    np.testing.assert_array_equal(numbers(page.tables["failures"]), failures)
    lives = [(r.typical, r.low, r.high, r.shortest, r.longest) for r in facts.fleet.new_life]
    np.testing.assert_array_equal(numbers([row[1:] for row in page.tables["new_life"]]), lives)
    # What is said of a new unit stands apart from what is left to a running one.
    assert not any("B10" in heading or "B50" in heading for heading in page.headings["fleet"])


def test_times_and_risks_that_follow_up_cuts_are_marked(tmp_path):
    X, y = new_rows()
    options = {"preset": "reliability", "n_resamples": 2, "unit": "days"}
    place = tmp_path / "page.html"
    facts = write_report(plain(), X[["temp", "load"]], y, place, **options).facts
    limited = sum(one.bound_is_limited for one in facts.fleet.units)
    text = place.read_text(encoding="utf-8")
    assert 0 < limited < len(facts.fleet.units)
    assert f"({limited} of {len(facts.fleet.units)} lower bounds)" in Page(text).words
    table = text[text.index('id="table-fleet"') :]
    table = table[: table.index("</table>")]
    assert table.count("at least ") >= sum(
        one.bound_is_limited and one.remaining_bound > 0 for one in facts.fleet.units
    )


def test_sentences_tell_the_numbers(clinical, fleet):
    facts, words = clinical[0].facts, Page(clinical[1]).words
    cohort = facts.cohort
    assert f"Of {cohort.n_rows} individuals, {cohort.n_events} (" in words
    row = facts.evaluation["concordance_restricted_mean"]
    assert f"right one in {100 * row.value:.0f} of 100 pairs" in words
    assert facts.verdict in words
    lower = facts.coverage[1]
    assert f"an estimated {100 * lower.estimate:.0f} % do" in words
    assert f"Of {lower.n_past} observed events, {lower.n_past - lower.n_kept} came before" in words
    assert "Bounds are calibrated: " in words
    facts, words = fleet[0].facts, Page(fleet[1]).words
    own = facts.costs[0]
    assert own.rule == "each unit at its own cheapest age"
    assert own.rate <= min(row.rate for row in facts.costs[1:]) * 1.005
    said = "With 2 for a planned replacement and 9 for a failure, replacing each unit at its own"
    assert said in words
    assert f"{facts.fleet.n_due} of {facts.fleet.n_running} running units have reached" in words
    first, row = facts.fleet.units[0], facts.fleet.failures.rows[0]
    assert f"is that of {first.label}: {percent(first.risks[0])}.".replace(NO_BREAK, " ") in words
    assert f"Within 30 days, {row.expected:.1f} of {facts.fleet.n_running} running" in words


def test_the_page_says_which_numbers_rest_on_a_sample(tmp_path, monkeypatch, clinical):
    every = Page(clinical[1]).words
    assert "Each feature was shuffled 3 times among all 100 individuals." in every
    assert "drawn at random" not in every
    monkeypatch.setattr(_facts, "_MOST_SCORED", 60)
    monkeypatch.setattr(_facts, "_MOST_SHUFFLED", 40)
    X, y = new_rows()
    write_report(plain(), X[["temp", "load"]], y, tmp_path / "page.html", n_resamples=2)
    words = Page((tmp_path / "page.html").read_text(encoding="utf-8")).words
    for said in (
        "Scores are those of 60 of 100 individuals, drawn at random.",
        "The test and the bars are those of 60 of 100 individuals, drawn at random.",
        "Each feature was shuffled 3 times among 40 of 100 individuals, drawn at random.",
    ):
        assert said in words


def test_failed_units_that_were_asked_for_are_called_so(tmp_path):
    X, (time, event) = new_rows()
    rows = [*np.flatnonzero(event)[:2], *np.flatnonzero(~event)[:3]]
    numbers, place = X[["temp", "load"]], tmp_path / "page.html"
    options = {"preset": "reliability", "individuals": rows, "n_resamples": 2, "risk": 0.03}
    write_report(plain(), numbers, (time, event), place, **options)
    page = Page(place.read_text(encoding="utf-8"))
    assert "2 of the 5 units that were asked for have failed already" in page.words
    # The bounds of the table are judged, whatever their confidence is.
    assert "Of the units, 97 % should outlive their lower bound" in page.words
    assert [row[0] for row in page.tables["coverage"]][3] == "lower bound 97\u00a0%"


def test_failures_outside_of_the_limits_of_the_model_are_said(tmp_path):
    X, (time, event) = new_rows()
    numbers, place = X[["temp", "load"]], tmp_path / "page.html"
    options = {"preset": "reliability", "n_resamples": 2, "early_cost": 1.0}
    for factor, when in ((3.0, "later"), (0.3, "earlier")):
        write_report(plain(), numbers, (factor * time, event), place, late_cost=1.0, **options)
        words = Page(place.read_text(encoding="utf-8")).words
        said = f"failures came {when} than predicted, outside of the limits of B10 and B50."
        assert said in words
        # A planned replacement that costs as much as a failure is never the cheaper one.
        assert "replacing before failure does not pay at any age that follow-up supports" in words


def test_a_model_without_calibrated_bounds_is_called_so(tmp_path):
    X, y = new_rows()
    write_report(plain(), X[["temp", "load"]], y, tmp_path / "page.html", n_resamples=2,
                 are_training_rows=True)  # fmt: skip
    words = Page((tmp_path / "page.html").read_text(encoding="utf-8")).words
    assert "Bounds are not calibrated: they are the model's own quantiles." in words
    assert "The model was fitted to these very rows" in words
    assert "No individual was asked for, so none is shown." in words


def rows_in(text, X, columns):
    """Rows of X whose values of some columns all stand in the text."""
    return [
        row
        for row in range(len(X))
        if all(re.search(rf"(?<![\d.]){re.escape(str(X[c][row]))}(?!\d)", text) for c in columns)
    ]


def page_model(text):
    """JSON of the model in a page, which is compressed."""
    packed = re.search(r'id="page-model"[^>]*>(.*?)</script>', text)[1]
    return zlib.decompress(base64.b64decode(packed)).decode()


def test_a_page_has_no_features_of_individuals_that_were_not_asked_for(clinical, fleet):
    X, _ = new_rows()
    body = re.sub(r'<script id="page-model".*?</script>', "", clinical[1], flags=re.DOTALL)
    assert set(rows_in(body, X, ["temp"])) == {1, 5}
    body = re.sub(r'<script id="page-model".*?</script>', "", fleet[1], flags=re.DOTALL)
    assert rows_in(body, X, ["temp"]) == []
    assert "and features of none" in Page(fleet[1]).words
    assert "the features of 2 individuals that were asked for" in Page(clinical[1]).words


def test_a_page_has_no_times_of_individuals_that_were_not_asked_for(clinical):
    _, (time, _) = new_rows()
    body = re.sub(r"<script.*?</script>|<svg.*?</svg>", "", clinical[1], flags=re.DOTALL)
    shown = {float(value) for value in re.findall(r'data-value="([\d.]+)"', body)}
    assert set(time.tolist()) & shown == {time[1], time[5]}


def test_a_page_tells_no_extremes_of_the_rows_and_of_the_fit(clinical, fleet):
    _, (time, _) = new_rows()
    trained = machines()[1][:N_TRAIN]
    for written, text in (clinical, fleet):
        page = text if written is clinical[0] else text[: text.index('id="table-fleet"')]
        words = Page(page).words
        for extreme in (time.min(), time.max(), trained.min(), trained.max()):
            assert not re.search(rf"(?<![\d.,]){re.escape(f'{extreme:g}')}(?![\d.])", words)
        for longest in (time.max(), trained.max()):
            assert f"{longest:,.0f}" not in words


def test_no_table_has_a_group_below_ten_rows(tmp_path, clinical):
    page = Page(clinical[1])
    assert page.column("cohort", 1).min() >= 10
    assert page.column("risks", 2).min() >= 10
    # Numbers at risk below the figure of the survival curve as well.
    at_risk = [int(one) for one in re.findall(r">(\d+) \(\d+\)<", clinical[1])]
    assert len(at_risk) >= 3
    assert min(at_risk) >= 10
    X, (time, event) = new_rows()
    late = np.where(np.arange(len(time)) < 4, 90_000.0, time)  # four that were followed for longer
    place = tmp_path / "page.html"
    write_report(plain(), X[["temp", "load"]], (late, event), place, n_resamples=2, horizons=[300])
    assert Page(place.read_text(encoding="utf-8")).column("cohort", 1).min() >= 10


def floats_of(model):
    """All constants of a model in a page."""
    types = {"f4": "<f4", "f8": "<f8"}
    return np.concatenate([
        np.frombuffer(base64.b64decode(one["data"]), types[one["type"]]).astype(float)
        for one in json.loads(model)["constants"].values()
        if one["type"] in types
    ])  # fmt: skip


@pytest.mark.parametrize(
    "make",
    [
        CoxQuantileRegressor,
        lambda: CensoredQuantileForest(n_estimators=10, random_state=0),
        lambda: CensoredQuantileRegressor(
            candidates=[("cox", CoxQuantileRegressor()),
                        ("forest", CensoredQuantileForest(n_estimators=10, random_state=0))], cv=2
        ),
        lambda: ConformalSurvivalRegressor(CoxQuantileRegressor(), cv=2, random_state=0),
        lambda: ConformalSurvivalRegressor(
            CoxQuantileRegressor(), cv=2, random_state=0, censoring_estimator=CoxQuantileRegressor()
        ),
    ],
    ids=["cox", "forest", "pool", "conformal", "modelled censoring"],
)  # fmt: skip
def test_a_panel_holds_no_times_of_training_rows(tmp_path, make):
    X, time, event = machines()
    X, time = X[["temp", "load"]], time + np.random.default_rng(0).uniform(0, 0.01, len(time))
    train = time[:N_TRAIN]
    model = make().fit(X[:N_TRAIN], (train, event[:N_TRAIN]))
    place, rest = tmp_path / "page.html", slice(N_TRAIN, None)
    write_report(model, X[rest], (time[rest], event[rest]), place, n_resamples=2)
    text = place.read_text(encoding="utf-8")
    held = floats_of(page_model(text))
    assert not set(held) & set(train)
    assert not set(held.astype(np.float32)) & set(train.astype(np.float32))
    exact = floats_of(model.to_javascript([0.5]).json)
    assert set(exact) & set(train)  # as it would be without


def test_text_of_users_is_never_markup(clinical, fleet):
    assert "Hot &lt;b&gt;machines&lt;/b&gt; &amp; others" in clinical[1]
    assert "<b>" not in clinical[1]
    assert "<img" not in fleet[1]
    assert not [tag for tag, _ in Page(fleet[1]).tags if tag == "img"]


def test_a_page_asks_the_network_for_nothing(clinical):
    _, text = clinical
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert " style=" not in text
    scripts = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    assert len(scripts) == 3
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    sources = [
        entries[name]
        for _, entries in Page(text).tags
        for name in ("src", "href", "xlink:href", "action")
        if name in entries
    ]
    assert sources
    assert all(source.startswith("#") for source in sources)
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)


def test_names_inside_the_page_are_unique_and_references_lead_somewhere(clinical):
    tags = Page(clinical[1]).tags
    ids = [entries["id"] for _, entries in tags if "id" in entries]
    assert len(ids) == len(set(ids))
    for _, entries in tags:
        for name in ("href", "xlink:href"):
            if entries.get(name, "").startswith("#"):
                assert entries[name][1:] in ids
        for name in ("for", "aria-labelledby"):
            if name in entries:
                assert entries[name] in ids


def test_the_page_holds_the_model_and_controls_for_every_feature(clinical):
    written, text = clinical
    assert written.has_panel
    assert written.n_bytes == len(text.encode()) < 2_000_000
    panel = json.loads(re.search(r'id="page-panel"[^>]*>(.*?)</script>', text)[1])
    controls = {control["name"]: control for control in panel["controls"]}
    assert list(controls) == ["temp", "load", "site"]
    X, _ = new_rows()
    assert X["temp"].min() < controls["temp"]["low"] < controls["temp"]["high"] < X["temp"].max()
    assert controls["load"]["step"] == 1
    assert controls["site"]["levels"] == ["north", "south", "west", "(another)", ""]
    assert [start["name"] for start in panel["starts"][1:]] == ["row 5", "row 1"]
    assert panel["starts"][1]["values"]["temp"] == X["temp"][5]
    model = json.loads(page_model(text))
    assert model["facts"]["quantiles"] == list(SHOWN)


def test_a_model_that_is_too_large_is_left_out_and_the_page_says_so(tmp_path):
    X, y = new_rows()
    numbers = X[["temp", "load"]]
    forest = CensoredQuantileForest(n_estimators=100, random_state=0).fit(numbers, y)
    page, few = tmp_path / "page.html", {"n_resamples": 2}
    written = write_report(forest, numbers, y, page, panel_limit=0.1, **few)
    text = page.read_text(encoding="utf-8")
    assert not written.has_panel
    assert "the page would have" in written.panel_reason
    assert "page-model" not in text
    assert "The panel is left out: with its model the page would have" in Page(text).words
    # The limit that the sentence names is enough.
    named = float(re.search(r"pass panel_limit=([\d.]+)", written.panel_reason)[1])
    written = write_report(forest, numbers, y, page, panel_limit=named, **few)
    assert written.has_panel
    assert named - 0.1 <= written.n_bytes / 1e6 <= named
    with pytest.raises(ValueError, match=r"panel_limit must be"):
        write_report(forest, numbers, y, page, panel_limit=-1.0, **few)


def test_a_model_that_cannot_be_exported_has_a_page_without_the_panel(tmp_path):
    class Uniform:
        def predict_quantiles(self, X, quantiles):
            return 3000.0 * np.tile(quantiles, (len(X), 1))

    X, y = new_rows(60)
    written = write_report(Uniform(), X, y, tmp_path / "page.html", n_resamples=2)
    assert written.panel_reason.startswith("AdaptedModel cannot be exported")


class Foreign(CoxQuantileRegressor):
    """A model of the censoring times that the export does not know."""

    def _curve_of_numbers(self, numbers):
        raise TypeError("Foreign cannot be exported.")


def test_a_censoring_model_that_cannot_be_exported_leaves_a_panel_without_bounds(tmp_path):
    X, time, event = machines()
    X, y = X[["temp", "load"]], (time, event)
    model = ConformalSurvivalRegressor(
        CoxQuantileRegressor(), cv=2, censoring_estimator=Foreign(), random_state=0
    ).fit(X, y)
    written = write_report(model, X, y, tmp_path / "page.html", n_resamples=2)
    assert written.has_panel
    words = Page((tmp_path / "page.html").read_text(encoding="utf-8")).words
    assert (
        "The calibrated bounds of the model are not shown here: Foreign cannot be exported."
        in words
    )


def test_a_page_that_is_too_large_with_bounds_has_a_panel_without_them(tmp_path):
    X, y = new_rows()
    X, place = X[["temp", "load"]], tmp_path / "page.html"
    whole = write_report(calibrated_fleet(), X, y, place, n_resamples=2)
    limit = (whole.n_bytes - 1) / 1e6
    written = write_report(calibrated_fleet(), X, y, place, n_resamples=2, panel_limit=limit)
    assert written.has_panel
    assert written.n_bytes < whole.n_bytes
    words = Page(place.read_text(encoding="utf-8")).words
    assert "the page would be too large with the model of the censoring times." in words


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    X, y = new_rows()
    with pytest.raises(ImportError, match=r'pip install "censquant\[report\]"'):
        write_report(plain(), X, y, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_an_existing_page_is_kept_unless_it_may_be_replaced(tmp_path):
    X, y = new_rows()
    place = tmp_path / "page.html"
    place.write_text("kept")
    with pytest.raises(FileExistsError, match=r"page.html' exists already and is not overwritten"):
        write_report(plain(), X, y, place, overwrite=False)
    assert place.read_text() == "kept"


def test_figures_are_described_and_follow_the_colours_of_the_page(clinical, fleet):
    for _, text in (clinical, fleet):
        figures = [
            entries
            for tag, entries in Page(text).tags
            if tag == "svg" and "figure" in entries.get("class", "")
        ]
        assert len(figures) >= 6
        assert all(entries["role"] == "img" and entries["aria-label"] for entries in figures)
        drawn = re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)
        assert not re.search(r"#000000|#ffffff|#08306b", "".join(drawn))


def test_tables_have_captions_and_headings_with_a_scope(clinical):
    tags = Page(clinical[1]).tags
    count = {name: sum(tag == name for tag, _ in tags) for name in ("table", "caption")}
    assert count["table"] == count["caption"] > 8
    assert all("scope" in entries for tag, entries in tags if tag == "th")
    levels = [int(tag[1]) for tag, _ in tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert set(levels[1:]) == {2}
    assert ("html", {"lang": "en"}) in tags
