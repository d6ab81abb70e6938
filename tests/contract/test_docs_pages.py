"""What the pages in docs/ show is run, and what they point at exists."""

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import censquant
from data_folder import empty_folder
from engine_records import add_engines
from printed_output import check_page, is_as_shown

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
METHODS = (DOCS / "methods.md").read_text(encoding="utf-8")
ADDING = (DOCS / "adding-a-method.md").read_text(encoding="utf-8")
OBJECTIVE = "AdaptedCheck"


def blocks(text):
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def run_page(text, name):
    """Names that the blocks of a page leave behind; they share one namespace."""
    namespace = {"__name__": name}
    for number, block in enumerate(blocks(text)):
        exec(compile(block, f"{name}, block {number}", "exec"), namespace)
    return namespace


# Their blocks print what stands below them.
SHOWN = (
    "calibration",
    "choosing",
    "coming-from",
    "comparison",
    "competing-risks",
    "concepts",
    "contrasts",
    "image-data",
    "index",
    "intervals-and-entry",
    "metrics",
    "own-data",
    "own-network",
    "quickstart",
    "report",
    "scale",
    "speed",
    "walk-clinic",
    "walk-deploy",
)


# A block of code, and the output below it, if any.
CODE_AND_OUTPUT = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", re.DOTALL)


def run_shown(name, capsys, rewrite_pages):
    """Names that the blocks of a page leave behind, having printed what stands below them."""
    path = DOCS / f"{name}.md"
    namespace, found = {"__name__": name}, []
    for number, shown in enumerate(CODE_AND_OUTPUT.finditer(path.read_text(encoding="utf-8"))):
        exec(compile(shown[1], f"{name}, block {number}", "exec"), namespace)
        printed = capsys.readouterr().out
        if shown[2] is None:
            assert not printed
        else:
            found.append((*shown.span(2), shown[2], printed))
    assert found
    check_page(path, found, rewrite=rewrite_pages)
    return namespace


@pytest.mark.parametrize("name", SHOWN)
def test_blocks_of_a_page_print_what_the_page_shows(
    name, tmp_path, monkeypatch, capsys, rewrite_pages
):
    monkeypatch.chdir(tmp_path)
    run_shown(name, capsys, rewrite_pages)


SHOWN_TEXT = "500  477.0  inf, concordance 0.68, 61 % within follow-up, no sign (p = 0.8)"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("p = 0.8", "p < 0.001"),  # the verdict is in words, digits of p-values are noise
        ("477.0", "471.0"),
        (" 477.0", "486.0"),  # of other width too
        ("0.68", "0.69"),
        ("61 %", "62 %"),
    ],
)
def test_a_page_may_show_what_another_processor_prints(old, new):
    assert is_as_shown(SHOWN_TEXT, SHOWN_TEXT.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("no sign", "a sign"),
        ("477.0", "450.0"),
        ("477.0", "inf"),
        ("inf", "1999.0"),
        ("500", "501"),  # a count or a label
        ("0.68", "0.72"),
        ("61 %", "65 %"),
        (" (p = 0.8)", ""),
        ("p = 0.8)", "p = 0.8)\nmore"),
    ],
)
def test_a_page_may_not_show_something_else(old, new):
    assert not is_as_shown(SHOWN_TEXT, SHOWN_TEXT.replace(old, new))


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("Fitted in 4.6 s: hazards 53%, deep boosting 20%", "Fitted in 12 s: hazards 80%"),
        ("Written: women.html (1.52 MB)", "Written: women.html (1.61 MB)"),
    ],
)
def test_seconds_sizes_and_small_weights_may_differ(shown, printed):
    assert is_as_shown(shown, printed)


def test_a_page_is_rewritten_as_a_whole_and_only_if_it_is_wrong(tmp_path):
    path = tmp_path / "page.md"
    text = "a 1.00 b 2.00 c"
    near, far = [(2, 6, "1.00", "1.01"), (9, 13, "2.00", "2.02")], (9, 13, "2.00", "3.00 ")
    path.write_text(text)
    check_page(path, near, rewrite=True)
    assert path.read_text() == text
    with pytest.raises(AssertionError, match=r"shows\n2.00\nbut its code prints\n3.00"):
        check_page(path, [near[0], far], rewrite=False)
    check_page(path, [near[0], far], rewrite=True)
    assert path.read_text() == "a 1.01 b 3.00 c"


@pytest.mark.parametrize("name", ["../README", "quickstart"])
def test_days_that_a_page_names_are_those_of_the_output_above(name):
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    before, _, after = page.partition("By day ")
    output = before.rpartition("```text\n")[2]
    days = [after.split()[0], *re.findall(r"by day (\d+)", after.partition("\n\n")[0])]
    assert len(days) == 2
    assert set(days) <= set(re.findall(r"\d+", output))


# The sensors of made-up engines follow a simpler law than NASA's, which the pool does not match.
@pytest.mark.filterwarnings("ignore:Cross-validation shows miscalibrated")
def test_code_of_the_reliability_page_runs_on_engines_of_the_same_form(tmp_path, monkeypatch):
    folder = empty_folder(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    add_engines(folder, 120, 260)
    page = (DOCS / "reliability.md").read_text(encoding="utf-8")
    assert "every tenth" in page
    found = run_page(page.replace("age % 10 == 0", "age % 40 == 0"), "reliability")
    assert found["fleet"].shape == (100, 4)
    # A prediction that is late by ten cycles costs more than one that is early by ten.
    assert found["nasa_score"](np.array([110.0]), 100.0) == pytest.approx(np.e - 1.0)
    assert found["nasa_score"](np.array([87.0]), 100.0) == pytest.approx(np.e - 1.0)


def contracts(n, rng):
    """Text of contracts in the form of the published file: those by the month end sooner."""
    names = "female senior_citizen partner dependents phone_service paperless_billing"
    services = "multiple_lines internet_service online_security online_backup device_protection"
    services += " tech_support streaming_tv streaming_movies"
    by_month = rng.uniform(size=n) < 0.5
    end = np.ceil(np.where(by_month, 20.0, 80.0) * rng.exponential(size=n))
    time = np.minimum(end, rng.integers(1, 73, n))
    price = rng.uniform(20.0, 100.0, n).round(2)
    columns = {name: rng.integers(0, 2, n) for name in names.split()}
    columns |= {name: rng.choice(["Yes", "No"], n) for name in services.split()}
    columns |= {
        "contract": np.where(by_month, "Month-to-month", "Two_year"),
        "payment_method": rng.choice(["Mailed_check", "Electronic_check"], n),
        "monthly_charges": price,
        "total_charges": (price * time).round(2),
        "time": time,
        "status": (time == end).astype(int),
    }
    rows = zip(*columns.values(), strict=True)
    return "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows), ""])


def test_code_of_the_churn_page_runs_on_contracts_of_the_same_form(tmp_path, monkeypatch, capsys):
    folder = empty_folder(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    folder.add("field/datasets/wa_churn.csv", contracts(600, np.random.default_rng(0)))
    found = run_page((DOCS / "churn.md").read_text(encoding="utf-8"), "churn")
    # The column that leaks looks much better than it is.
    assert found["concordance"](list(found["X"])) > found["concordance"](found["honest"]) + 0.05
    assert set(found["by_contract"].index) == {"Month-to-month", "Two_year"}


def test_code_of_the_methods_page_runs_and_shows_what_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run_page(METHODS, "methods")
    begun, preferred = found["begun"], found["preferred"]
    for make in ("make_exponential", "make_norm_nonlinear"):
        pooled = begun["CensoredQuantileRegressor", make].sum()
        assert pooled < begun["CQRNN", make].sum()
        assert pooled < begun["CoxQuantileRegressor", make].sum()
    assert preferred["make_exponential"][1]["cox"] > 0.9
    assert preferred["make_norm_nonlinear"][1]["forest"] > 0.3
    levels, true_levels = found["NINE"], found["true_levels"]
    assert true_levels["nearest"][0] > 0.22
    np.testing.assert_allclose(true_levels["interpolate"], levels, atol=0.03)
    assert found["frozen"][2] > 10 * found["every_step"][2]
    with_known, _, without = found["known"]["make_lognorm"]
    assert with_known[2] > 2 * without[2]
    medians = found["medians"]
    truth = 10.0 * np.log(2.0) ** 0.5
    assert abs(medians["CQRNN"] - truth).max() < 1.0
    assert medians["UncensoredOnlyNN"][0] < medians["DeepQuantReg"][0] < truth - 2.0
    scaled, unscaled = map(np.ptp, found["final_losses"].values())
    assert scaled < 0.1 < 0.5 < unscaled
    by_default, light = found["concordances"]
    assert by_default > light + 0.02
    families = found["families"]
    for make in ("make_weibull", "make_norm_uniform"):
        rival = families["CQRNN", make]
        # The tail of a wrong family is wrong; regularisation by default does not help one feature.
        assert families["LogNormalNN, LIGHT", make][2] > 3 * rival[2]
        assert families["LogNormalNN", make][2] > 2 * rival[2]
        for name in ("LogNormalNN", "WeibullNN", "AsymmetricLaplaceNN"):
            assert families[f"{name}, LIGHT", make][1] < families[name, make][1]
    assert (families["WeibullNN, LIGHT", "make_weibull"] < families["CQRNN", "make_weibull"]).all()
    shapes = found["bent"]
    for make in ("make_weibull", "make_norm_uniform", "make_lognorm"):
        assert shapes["log-normal", make].sum() < shapes["CQRNN", make].sum()
    assert max(found["held_out"], key=found["held_out"].get) == "log-normal"
    boosted, forest, network = found["by_trees"]["make_norm_linear"]
    assert min(boosted[2], forest[2]) > 1.5 * network[2]
    boosted, forest, network = found["by_trees"]["make_lognorm"]
    assert max(boosted[0], forest[0]) < 0.8 * network[0]
    # About the same there: which is lower depends on the processor.
    np.testing.assert_allclose([boosted[1], forest[1]], network[1], rtol=0.5)
    assert forest[2] < 1.1 * network[2]
    assert boosted[2] > network[2]
    two_modes = [1.7, 2.0, 2.4, 7.6, 9.0, 10.7]
    np.testing.assert_allclose(found["two_modes"]["CensoredQuantileForest"], two_modes, rtol=0.15)
    assert 3.0 < found["two_modes"]["BoostedQuantileRegressor"][2:4].mean() <= 6.0
    (*linear, network), (*bent, curved) = found["straight"].values()
    assert all(fit.sum() < network.sum() for fit in linear)
    assert all(fit.sum() > 5 * curved.sum() for fit in bent)
    # Printed by R 4.2.2 with quantreg 5.94.
    np.testing.assert_allclose(found["of_r"], [0.26032568, 0.33821772, 0.36801031], atol=1e-7)
    (early, worn), network = found["crossing"]["CoxQuantileRegressor"], found["crossing"]["CQRNN"]
    np.testing.assert_allclose(early, worn, rtol=0.1)
    assert network[0, 0] < 0.5 * early[0]
    assert early[2] < 0.8 * network[0, 2]
    cox, network = found["proportional"]["make_exponential"]
    assert (cox < network).all()
    cox, network = found["proportional"]["make_norm_nonlinear"]
    assert (cox > 5 * network).all()
    np.testing.assert_allclose(found["tails"]["lognormal"], [1.0, 2.7, 7.4], atol=0.06)
    np.testing.assert_allclose(found["tails"]["weibull"], [1.0, 2.8, 5.6], atol=0.06)
    np.testing.assert_allclose(found["tails"]["exponential"], [0.5, 3.5, 11.7], atol=0.06)
    likelihoods = [model.log_likelihood_ for model in found["laws"].values()]
    assert likelihoods == sorted(likelihoods, reverse=True)


def test_code_of_the_page_on_adding_a_method_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run_page(ADDING, "adding")
    assert found["model"].predict(found["data"].X[:2]).shape == (2,)
    assert found["times_faster"] > 0


def test_code_of_the_benchmark_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run_page((DOCS / "benchmark.md").read_text(encoding="utf-8"), "benchmark")
    assert sorted(found["means"].index) == ["linear", "lognorm"]
    assert (found["report"].rows["error"] == "").all()
    assert "| my study | linear |" in found["table"]


def test_code_of_the_page_on_other_models_runs_and_shows_what_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "other-models.md").read_text(encoding="utf-8")
    found = run_page(page, "other-models")
    for result in (found["of_forest"], found["of_cox"]):
        assert result["concordance_restricted_mean"].lower > 0.5
        assert 0.4 < result.identified < 1
    assert found["difference"].p_value is not None
    assert found["baseline"]["concordance_index"].value == 0.5
    assert all(f"`{name}`" in page for name in censquant.adapters.__all__)


def test_blocks_of_the_page_on_inspection_print_and_find_what_the_page_says(
    tmp_path, monkeypatch, capsys, rewrite_pages
):
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "inspection.md").read_text(encoding="utf-8")
    found = run_shown("inspection", capsys, rewrite_pages)
    importance, ranks = found["importance"], found["ranks"]
    assert importance.features[importance.order[0]] == "pnodes"
    assert ranks.mean_ranks.argmin() == 0
    late = found["partial_dependence"](found["model"], found["X_test"], "pnodes")
    assert late.average[0, 0] > late.average[-1, 0]
    for part in (censquant.inspection, censquant.plotting):
        missing = [name for name in part.__all__ if name[0].islower() and f"`{name}" not in page]
        assert not missing


def test_code_of_the_page_on_clusters_runs_and_shows_what_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run_page((DOCS / "clusters.md").read_text(encoding="utf-8"), "clusters")
    assert list(found["some"].columns) == ["q0.1", "q0.5"]
    new = found["machines"](99)
    truth = np.exp(2.0 - new["load"])
    assert np.abs(found["median"] / truth - 1.0).mean() < 0.05
    restored = censquant.load_model("machines.cq")
    np.testing.assert_array_equal(restored.predict(new[["load", "age"]]), found["median"])
    assert found["same"]


def test_the_benchmark_page_names_every_suite():
    from censquant_bench import SUITES

    page = (DOCS / "benchmark.md").read_text(encoding="utf-8")
    table = page.split("## The experiments")[1].split("##")[0]
    named = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert named == list(SUITES)


def class_source(text, name):
    """Source of a class with its decorators."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            return "\n".join(text.splitlines()[first - 1 : node.end_lineno])
    raise LookupError(name)


@pytest.mark.parametrize("name", [OBJECTIVE, f"{OBJECTIVE}NN"])
def test_the_page_and_the_example_show_the_same_code(name):
    page = "\n".join(blocks(ADDING))
    example = (ROOT / "examples" / "adapted_check_loss.py").read_text(encoding="utf-8")
    assert class_source(page, name) == class_source(example, name)


def test_the_objective_with_its_imports_is_under_forty_lines():
    block = next(block for block in blocks(ADDING) if f"class {OBJECTIVE}(" in block)
    assert len(block.splitlines()) < 40


def test_the_objective_is_not_in_the_package():
    assert not hasattr(censquant._engine.objectives, OBJECTIVE)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run_without_a_warning(path, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


# The contract of all estimators, and the way to put others in front of one: no methods.
AROUND_METHODS = ["QuantilePipeline", "BaseQuantileRegressor"]


def estimators():
    values = {name: getattr(censquant, name) for name in censquant.__all__}
    return [
        name
        for name, value in values.items()
        if inspect.isclass(value) and issubclass(value, BaseEstimator)
    ]


def section(name):
    """Text from a heading of the methods page to the next one of its rank."""
    return re.search(rf"^## {name}\n(.*?)(?=^## )", METHODS, re.DOTALL | re.MULTILINE)[1]


@pytest.mark.parametrize("name", AROUND_METHODS)
def test_classes_around_the_methods_are_named_before_the_methods(name):
    assert name in estimators()
    assert f"`{name}`" in METHODS.split("\n## ")[0]


@pytest.mark.parametrize("name", [n for n in estimators() if n not in AROUND_METHODS])
def test_every_method_has_a_row_and_a_section(name):
    table = METHODS.split("\n## ")[0]
    assert re.search(rf"^\|[^|]+\| `{name}` \|", table, re.MULTILINE)
    text = section(name)
    assert "$$" in text
    for part in ("Idea", "Assumes", "Misleads", "Pick it"):
        assert f"**{part}" in text
    assert re.search(r"\((?:19|20)\d\d\)", text)


@pytest.mark.parametrize(
    ("name", "heading"),
    [
        ("CQRNN", "`level_rule`"),
        ("CQRNN", "`y_star`"),
        ("CQRNN", "`head`"),
        ("CQRNN", "`crossing_penalty`"),
        ("CQRNN", "`em_epochs`"),
        ("CQRNN", "`censoring_time`"),
        ("LinearQuantileRegressor", '`method="portnoy"`'),
        ("LinearQuantileRegressor", '`method="peng-huang"`'),
        ("LinearQuantileRegressor", '`method="powell"`'),
        ("LinearQuantileRegressor", '`method="fitzenberger"`'),
        ("LinearQuantileRegressor", '`method="wang-wang"`'),
        ("LinearQuantileRegressor", '`method="data-augmentation"`'),
        ("LogNormalNN", '`loss="crps"`'),
        ("LogNormalNN", "`calibration_penalty`"),
        ("CoxQuantileRegressor", "`ties`"),
        ("CoxQuantileRegressor", "`penalty`"),
        ("AFTRegressor", "`distribution`"),
        ("AFTRegressor", "`penalty`"),
    ],
)
def test_options_that_change_a_method_have_a_section(name, heading):
    assert f"\n### {heading}\n" in section(name)


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table(name):
    """Rows of a table of the committed main results, by its title."""
    text = (ROOT / "bench" / "results" / "main.md").read_text(encoding="utf-8")
    lines = text.split(f"## {name}\n")[1].split("\n## ")[0].splitlines()
    return [cells(line) for line in lines if line.startswith("|") and "±" in line]


def test_the_table_of_published_numbers_is_that_of_the_results():
    results = {
        (dataset, method): (error.strip("*"), published.partition(" (")[0])
        for dataset, method, error, published, *_ in table("Full results")
    }
    shown = METHODS.split("## What the published numbers are")[1]
    rows = [cells(line) for line in shown.splitlines() if "±" in line]
    assert len(rows) == 14
    for dataset, *numbers in rows:
        expected = [
            *reversed(results[dataset, "DeepQuantReg, event curve (as run)"]),
            results[dataset, "DeepQuantReg"][0],
            *reversed(results[dataset, "LogNorm MLE, mixed up (as run)"]),
            results[dataset, "LogNorm MLE"][0],
        ]
        assert numbers == expected


def test_the_table_of_the_page_on_the_paper_is_that_of_the_results():
    page = (DOCS / "paper.md").read_text(encoding="utf-8")
    shown = page.split("## Tables")[1].split("\n## ")[0]
    rows = [cells(line) for line in shown.splitlines() if line.startswith("|") and "±" in line]
    assert rows == table("CQRNN beside the paper")


# Pages that a build of the site made are not of the repository.
SOURCES = [path for path in sorted(DOCS.rglob("*.md")) if "generated" not in path.parts]


def test_links_of_the_pages_exist():
    missing = {}
    for path in SOURCES:
        targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8"))
        own = [target for target in targets if not re.match(r"[a-z]+:", target)]
        missing[path.name] = [target for target in own if not (path.parent / target).exists()]
    assert not any(missing.values()), missing
