"""What the library offers by name: one list, and what holds for every name in it."""

import ast
import importlib
import inspect
import pkgutil
import re
from itertools import pairwise

import pytest

import censquant

# The command is a program and not a part of the library.
PARTS = sorted(
    module.name
    for module in pkgutil.iter_modules(censquant.__path__)
    if not module.name.startswith("_") and module.name != "cli"
)
MODULES = ["censquant", *(f"censquant.{part}" for part in PARTS)]

ESTIMATORS = """
    AFTRegressor CQRNN AsymmetricLaplaceNN BaseQuantileRegressor BoostedQuantileRegressor
    CensoredQuantileForest
    CensoredQuantileRegressor CompetingRisksRegressor ConformalSurvivalRegressor
    CoxQuantileRegressor DeepQuantReg
    LinearQuantileRegressor LogNormalNN PooledQuantileRegressor QuantilePipeline SequentialGridNN
    ShapeNN UncensoredOnlyNN WeibullNN adapt load_model make_quantile_pipeline
"""
# What a user may type. A name is added here after asking which user will.
PUBLIC = {
    "censquant": ESTIMATORS + "Checkpoint Surv __version__ register_onnx_converters",
    "censquant.adapters": "predict_quantiles_of quantiles_from_survival survival_of",
    "censquant.dask": "DaskCQRNN DaskCensoredQuantileRegressor",
    "censquant.datasets": """
        RealData SyntheticData catalogue censor_uniform describe
        fetch_cmapss fetch_files fetch_gbsg fetch_metabric fetch_phm2008 fetch_support fetch_whas
        load load_gbsg2 make_exponential make_lognorm make_lognorm_8d make_norm_4d make_norm_linear
        make_norm_nonlinear make_norm_uniform make_weibull
    """,
    "censquant.engine": """
        Callback Checkpoint GridObjective Head Network NeuralRegressor Objective ParametricRegressor
        RowSource Rows TrainingConfig pinball portnoy train
    """,
    "censquant.estimators": ESTIMATORS
    + "AdaptedModel NeuralRegressor ParametricRegressor load_notes",
    "censquant.exceptions": """
        CalibrationWarning ConstantFeatureWarning ExtrapolationWarning FeatureWarning
        FewEventsWarning IdentifiabilityWarning LeakageWarning ModelFileError NoEventsError
        TrainingDivergedError TruncationWarning
    """,
    "censquant.export": "PageModel register_onnx_converters",
    "censquant.inspection": """
        CohortTable Contrast Contributions ExpectedFailures PartialDependence
        PermutationImportance ReplacementPolicy cohort_table contrast contributions
        expected_failures fleet_table partial_dependence permutation_importance
        replacement_policy
    """,
    "censquant.io": """
        PredictedDataset PredictedFile SurvivalBlocks TableError TargetColumns TextOptions
        predict_dataset predict_file ray_predictor read_table spark_predictor spark_schema
    """,
    "censquant.metrics": """
        SCORERS ACalibration BootstrapInterval CalibrationAt Comparison Coverage DCalibration
        Evaluation PitHistogram a_calibration bootstrap_interval brier_score
        brier_score_incidence calibration_at calibration_incidence compare compare_models
        concordance_index concordance_index_ipcw concordance_index_td coverage crps_censored
        d_calibration evaluate
        get_scorer integrated_brier_score integrated_brier_score_incidence km_calibration
        log_score log_score_incidence mean_absolute_error_censored
        pinball_loss_censored pinball_loss_ipcw pit_band pit_curve pit_deviation pit_histogram
        right_censored_log_likelihood
    """,
    "censquant.plotting": """
        plot_bounds plot_calibration plot_calibration_at plot_coefficients plot_comparison
        plot_contrast plot_contributions plot_coverage plot_fans plot_history plot_importance
        plot_incidence
        plot_partial_dependence plot_quantile_bands plot_quantiles_1d plot_reliability plot_survival
    """,
    "censquant.quantiles": "CumulativeHazardFunction QuantileCurve SurvivalFunction",
    "censquant.report": "ReportFacts WrittenReport report_facts write_report",
    "censquant.survival": """
        AalenJohansen Estimate KaplanMeier LogRankTest Surv Target Turnbull aalen_johansen
        censoring_kaplan_meier kaplan_meier log_rank_test read_target turnbull
    """,
    "censquant.torch": "TorchNetwork image_cnn pinball_loss portnoy_loss",
}
MOST_NAMES = 190


def names_of(module):
    return importlib.import_module(module).__all__


def rank(name):
    """Order of names in `__all__`: constants, classes, the rest; digits by their value."""
    kind = 0 if len(name) > 1 and name.isupper() else 1 if name[:1].isupper() else 2
    return kind, [int(word) if word.isdigit() else word for word in re.split(r"(\d+)", name)]


def test_the_public_names_are_those_of_the_list_in_order():
    listed = {module: sorted(names.split(), key=rank) for module, names in PUBLIC.items()}
    assert {module: names_of(module) for module in MODULES} == listed


def test_the_public_surface_stays_small():
    assert len({name for names in PUBLIC.values() for name in names.split()}) <= MOST_NAMES


def docstrings_of_constants(module):
    """Names that are assigned at the top of a module and followed by a string about them."""
    body = ast.parse(inspect.getsource(module)).body
    for statement, following in pairwise(body):
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            yield from (t.id for t in targets if isinstance(t, ast.Name))


@pytest.mark.parametrize("module", MODULES)
def test_every_module_and_name_is_documented(module):
    home = importlib.import_module(module)
    assert home.__doc__
    files = [
        importlib.import_module(f"{module}.{found.name}")
        for found in pkgutil.iter_modules(getattr(home, "__path__", []))
        if module != "censquant"
    ]
    documented = {"__version__", *(n for file in files for n in docstrings_of_constants(file))}
    for name in home.__all__:
        value = getattr(home, name)
        if isinstance(value, type) or inspect.isroutine(value) or hasattr(value, "py_func"):
            assert inspect.getdoc(value), name
        else:
            assert name in documented, name


def test_dir_lists_the_names_and_the_parts():
    assert {*censquant.__all__, *PARTS} <= set(dir(censquant))
    assert dir(censquant) == sorted(dir(censquant))


def test_parts_are_attributes_that_are_loaded_when_they_are_named():
    for part in PARTS:
        assert censquant.__getattr__(part) is importlib.import_module(f"censquant.{part}")
        assert getattr(censquant, part) is importlib.import_module(f"censquant.{part}")


def test_names_lead_to_their_parts():
    from censquant.estimators import CQRNN

    assert censquant.CQRNN is CQRNN


def test_the_version_is_a_release():
    assert re.fullmatch(r"\d+\.\d+\.\d+", censquant.__version__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'censquant' has no attribute 'CQRN'"):
        censquant.CQRN  # noqa: B018


def test_a_lazy_name_is_looked_up_once():
    censquant.__getattr__("Surv")
    assert vars(censquant)["Surv"] is censquant.Surv


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LinearCQR", "LinearQuantileRegressor"),
        ("QuantileRegressor", "BaseQuantileRegressor"),
        ("load", "load_model"),
    ],
)
def test_names_of_the_first_version_warn_and_lead_to_the_new_ones(old, new):
    for home in (censquant, censquant.estimators):
        with pytest.warns(FutureWarning, match=f"^censquant.{old} is now censquant.{new}") as found:
            assert getattr(home, old) is getattr(censquant, new)
        assert found[0].filename == __file__
