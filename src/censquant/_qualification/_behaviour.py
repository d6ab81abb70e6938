"""Checks that need no publication: the installation, simulations of known truth, bits, extremes."""

import base64
import hashlib
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from censquant._qualification._checks import NotApplicableError, Section, at_most, between, printed
from censquant._typing import Floats
from censquant.datasets import load_gbsg2
from censquant.estimators import (
    AFTRegressor,
    BoostedQuantileRegressor,
    CensoredQuantileRegressor,
    ConformalSurvivalRegressor,
    CoxQuantileRegressor,
    LinearQuantileRegressor,
    load_model,
)
from censquant.exceptions import NoEventsError
from censquant.inspection import contrast, expected_failures
from censquant.metrics import concordance_index
from censquant.survival import kaplan_meier, log_rank_test

INSTALLATION = Section("installation", "Installation")
STATISTICAL = Section("statistical", "Statistical properties, by simulation")
REPRODUCIBILITY = Section("reproducibility", "Reproducibility")
STRESS = Section("stress", "Difficult data")

LEVELS = (0.1, 0.25, 0.5, 0.75)

check: Callable[..., Any] = INSTALLATION.check


# Installation


@check(
    "IN-1",
    "R1",
    "Required packages that are missing or older than the release needs",
    "Metadata of the installed distribution",
    at_most(0),
)
def _() -> float:
    wanted = [text for text in metadata.requires("censquant") or [] if "extra ==" not in text]
    return float(sum(not _is_met(text) for text in wanted))


def _is_met(requirement: str) -> bool:
    found = re.match(r"([\w.-]+)\s*>=\s*([\d.]+)", requirement)
    if not found:
        return True
    try:
        version = metadata.version(found[1])
    except metadata.PackageNotFoundError:
        return False
    return _numbers(version) >= _numbers(found[2])


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


@check(
    "IN-2",
    "R1",
    "Files of sources and data that are missing or changed since the installation",
    "Checksums that the installer recorded",
    at_most(0),
)
def _() -> float:
    listed = [path for path in metadata.files("censquant") or [] if path.hash is not None]
    # Machine code may be added to while the package is used; IN-4 checks what it computes.
    own = [p for p in listed if p.parts[0] == "censquant" and "__pycache__" not in p.parts]
    if not own:
        raise NotApplicableError("installed in place, from a folder of sources, without checksums")
    return float(sum(not _is_as_recorded(path) for path in own))


def _is_as_recorded(path: metadata.PackagePath) -> bool:
    place = Path(str(path.locate()))
    if not place.is_file() or path.hash is None:
        return False
    digest = hashlib.new(path.hash.mode, place.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == path.hash.value


@check(
    "IN-3",
    "R1",
    "The bundled trial of breast cancer: women, recurrences and days of follow-up in all",
    "Schumacher et al. (1994), Journal of Clinical Oncology 12; the sum of its times",
    printed("686 299 771400"),
)
def _() -> list[float]:
    X, y = load_gbsg2(as_frame=False)
    return [len(X), y["event"].sum(), y["time"].sum()]


@check(
    "IN-4",
    "R1",
    "Compiled code against a loop over all pairs of 200 rows: difference of a concordance",
    "The definition of Harrell's index, written as a loop",
    at_most(1e-12),
)
def _() -> float:
    rng = np.random.default_rng(1)
    time, event = rng.integers(1, 30, 200).astype(float), rng.random(200) < 0.6
    predicted = rng.integers(1, 20, 200).astype(float)
    later = (time[None, :] > time[:, None]) | ((time[None, :] == time[:, None]) & ~event[None, :])
    pairs = later & event[:, None]
    right = np.sign(predicted[None, :] - predicted[:, None]) / 2.0 + 0.5
    return abs(concordance_index((time, event), predicted) - float(right[pairs].mean()))


# Statistical properties

check = STATISTICAL.check
TRUTH = "The law that the data were drawn from"


def _exponential(rng: np.random.Generator, n: int) -> tuple[Floats, Any]:
    """Return times of mean 1, and whether each is an event; about 30 % are censored."""
    time, end = rng.exponential(1.0, n), rng.exponential(7.0 / 3.0, n)
    return np.minimum(time, end), time <= end


@check(
    "ST-1",
    "R9",
    "95 % limits of a Kaplan-Meier curve, 100 rows, 30 % censored: share of 2,000 samples in which "
    "they hold the true median survival",
    TRUTH,
    between(0.93, 0.97),
)
def _() -> float:
    rng, held = np.random.default_rng(11), 0
    at = np.log(2.0)
    for _ in range(2_000):
        low, high = kaplan_meier(*_exponential(rng, 100)).limits(at)
        held += int(low <= 0.5 <= high)
    return held / 2_000


@check(
    "ST-2",
    "R9",
    "95 % limits of a mean up to 1.5, 100 rows: share of 2,000 samples in which they hold the true "
    "one",
    TRUTH,
    between(0.92, 0.97),
)
def _() -> float:
    rng, held = np.random.default_rng(12), 0
    true = 1.0 - np.exp(-1.5)
    for _ in range(2_000):
        low, high = kaplan_meier(*_exponential(rng, 100)).restricted_mean(1.5).limits()
        held += int(low <= true <= high)
    return held / 2_000


@check(
    "ST-3",
    "R9",
    "Log-rank test of two groups of 50 rows that do not differ: share of 2,000 p-values below 5 %",
    TRUTH,
    between(0.035, 0.065),
)
def _() -> float:
    rng, group = np.random.default_rng(13), np.repeat([0, 1], 50)
    tests = (log_rank_test(*_exponential(rng, 100), group) for _ in range(2_000))
    return float(np.mean([test.p_value < 0.05 for test in tests]))


def _weibull(rng: np.random.Generator, n: int, slope: float = 0.5) -> tuple[Floats, Any]:
    """Return two features, and log-linear times of which about 40 % are censored."""
    x = rng.normal(size=(n, 2))
    log_time = 1.0 + slope * x[:, 0] - slope * x[:, 1] + 0.6 * np.log(rng.exponential(size=n))
    end = rng.exponential(4.5, n)
    time = np.exp(log_time)
    return x, (np.minimum(time, end), time <= end)


@check(
    "ST-4",
    "R9",
    "Weibull regression, 200 rows, 40 % censored: mean of 400 estimates of the coefficients 0.5 "
    "and -0.5, and share of their 95 % limits that hold them",
    TRUTH,
    between(0.49, 0.51),
    between(-0.51, -0.49),
    between(0.92, 0.975),
)
def _() -> list[float]:
    rng, estimates, held = np.random.default_rng(14), [], []
    for _ in range(400):
        model: Any = AFTRegressor().fit(*_weibull(rng, 200))
        estimates.append(model.coef_)
        errors = model.standard_errors_[1:3]
        held.append(np.abs(model.coef_ - [0.5, -0.5]) <= 1.959964 * errors)
    return [*np.mean(estimates, axis=0), float(np.mean(held))]


@check(
    "ST-5",
    "R9",
    "Cox's regression without a penalty, 400 rows, 40 % censored: mean of 200 estimates of the log "
    "hazard ratio -0.833, and share of 95 % limits that hold it",
    TRUTH,
    between(-0.86, -0.81),
    between(0.90, 0.985),
)
def _() -> list[float]:
    rng, truth = np.random.default_rng(15), -0.5 / 0.6
    found = []
    for _ in range(200):
        model: Any = CoxQuantileRegressor(penalty=0.0).fit(*_weibull(rng, 400))
        found.append((model.coef_[0], model.standard_errors_[0]))
    estimates, errors = np.array(found).T
    held = np.abs(estimates - truth) <= 1.959964 * errors
    return [float(estimates.mean()), float(held.mean())]


@check(
    "ST-6",
    "R9",
    "Linear quantile regression, 300 rows, 30 % censored: mean of 40 estimates of the slopes 2.20, "
    "2.50 and 2.80 of the levels 20, 50 and 80 %",
    TRUTH,
    between(2.1, 2.3),
    between(2.4, 2.6),
    between(2.65, 2.95),
)
def _() -> list[float]:
    rng, slopes = np.random.default_rng(16), []
    for _ in range(40):
        x, u = rng.random((300, 1)), rng.random(300)
        time = 1.0 + u + (2.0 + u) * x[:, 0]
        end = rng.uniform(1.0, 9.0, 300)
        model = LinearQuantileRegressor([0.2, 0.5, 0.8]).fit(
            x, (np.minimum(time, end), time <= end)
        )
        slopes.append(np.diff(model.predict_quantiles([[0.0], [1.0]], [0.2, 0.5, 0.8]), axis=0)[0])
    return list(np.mean(slopes, axis=0))


@check(
    "ST-7",
    "R9",
    "The recommended estimator, 1,000 rows, 40 % censored: share of 20,000 new events before the "
    "predicted 10, 25, 50 and 75 % quantiles",
    TRUTH,
    between(0.06, 0.14),
    between(0.20, 0.30),
    between(0.45, 0.55),
    between(0.70, 0.80),
)
def _() -> list[float]:
    rng = np.random.default_rng(17)
    model = CensoredQuantileRegressor(random_state=0).fit(*_weibull(rng, 1_000))
    x = rng.normal(size=(20_000, 2))
    log_time = 1.0 + 0.5 * x[:, 0] - 0.5 * x[:, 1] + 0.6 * np.log(rng.exponential(size=20_000))
    found = model.predict_quantiles(x, LEVELS, beyond="extrapolate")
    return list((np.exp(log_time)[:, None] <= found).mean(axis=0))


@check(
    "ST-8",
    "R9",
    "Calibrated lower bounds with a confidence of 90 %, 400 rows, 40 % censored: mean share of new "
    "rows that outlive them, 30 fits",
    TRUTH,
    between(0.88, 0.96),
)
def _() -> float:
    rng, shares = np.random.default_rng(18), []
    for _ in range(30):
        model = ConformalSurvivalRegressor(CoxQuantileRegressor(), cv=3, random_state=0)
        model.fit(*_weibull(rng, 400))
        x = rng.normal(size=(2_000, 2))
        log_time = 1.0 + 0.5 * x[:, 0] - 0.5 * x[:, 1] + 0.6 * np.log(rng.exponential(size=2_000))
        bound = model.predict_lower_bound(x, confidence=0.9)
        shares.append(float((np.exp(log_time) >= bound).mean()))
    return float(np.mean(shares))


def _confounded(rng: np.random.Generator, n: int) -> tuple[Floats, Any]:
    """Return a treatment that the ill get more often and one feature, and censored times."""
    x = rng.normal(size=n)
    treated = (rng.random(n) < 1.0 / (1.0 + np.exp(-x))).astype(np.float64)
    time = np.exp(1.0 - 0.5 * x + 0.4 * treated) * rng.exponential(size=n) ** 0.6
    end = rng.exponential(8.0, n)
    return np.column_stack([treated, x]), (np.minimum(time, end), time <= end)


def _effect() -> float:
    """Return what the treatment adds to the mean time up to 4, by quadrature."""
    x, weight = np.polynomial.hermite_e.hermegauss(40)
    t = np.linspace(0.0, 4.0, 4_001)
    means = []
    for treated in (0.0, 1.0):
        scale = np.exp(1.0 - 0.5 * x + 0.4 * treated)
        alive = np.exp(-((t / scale[:, None]) ** (1.0 / 0.6)))
        means.append(weight @ np.trapezoid(alive, t, axis=1) / weight.sum())
    return float(means[1] - means[0])


@check(
    "ST-9",
    "R9",
    "Effect of a treatment that the ill get more often, doubly robust, 500 rows: mean of 30 "
    "estimates of 0.54 more in the mean time up to 4, and share of their 95 % limits that hold it",
    TRUTH,
    between(0.48, 0.60),
    between(0.83, 1.0),
)
def _() -> list[float]:
    rng, truth, estimates, held = np.random.default_rng(19), _effect(), [], []
    for _ in range(30):
        X, y = _confounded(rng, 500)
        model = CoxQuantileRegressor().fit(X, y)
        asked: dict[str, Any] = {"feature": 0, "to": 1, "from_": 0, "at": 4.0}
        (row,) = contrast(model, X, y, method="doubly_robust", **asked).rows
        estimates.append(row.difference)
        held.append(row.low <= truth <= row.high)
    return [float(np.mean(estimates)), float(np.mean(held))]


@check(
    "ST-10",
    "R9",
    "Failures to expect among running units: share of 150 fleets whose failures lie within the "
    "95 % limits",
    TRUTH,
    between(0.90, 1.0),
)
def _() -> float:
    rng, held = np.random.default_rng(20), []
    for _ in range(150):
        x, y = _weibull(rng, 400)
        model = AFTRegressor().fit(x, y)
        new, age = rng.normal(size=(400, 2)), rng.uniform(0.0, 2.0, 400)
        time = np.exp(1.0 + 0.5 * new[:, 0] - 0.5 * new[:, 1]) * rng.exponential(size=400) ** 0.6
        runs = time > age
        (row,) = expected_failures(model, new[runs], age[runs], [1.0], y_train=y).rows
        n_failures = int((time[runs] - age[runs] <= 1.0).sum())
        held.append(row.low <= n_failures <= row.high)
    return float(np.mean(held))


# Reproducibility

check = REPRODUCIBILITY.check
DEFINITION = "Equal bits, as documented"


def _small() -> tuple[Floats, Any, Floats]:
    rng = np.random.default_rng(21)
    x, y = _weibull(rng, 300)
    return x, y, rng.normal(size=(50, 2))


def _predicted(x: Floats, y: Any, new: Floats, **options: Any) -> Floats:
    model = CensoredQuantileRegressor(random_state=0, **options).fit(x, y)
    return np.asarray(model.predict_quantiles(new, LEVELS, beyond="extrapolate"))


@cache
def _usual() -> Floats:
    return _predicted(*_small())


def _gap(first: Floats, second: Floats) -> float:
    """Return the largest relative difference; infinity where only one is a number."""
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.where(same, 0.0, np.abs(first - second) / np.maximum(np.abs(first), 1e-300))
    return float(np.nan_to_num(gap, nan=np.inf).max())


@check(
    "RP-1",
    "R10",
    "Two fits of the recommended estimator with one seed: largest difference of predictions",
    DEFINITION,
    at_most(0),
)
def _() -> float:
    x, y, new = _small()
    return _gap(_usual(), _predicted(x, y, new))


@check(
    "RP-2",
    "R10",
    "The same rows in another order: largest difference",
    DEFINITION,
    at_most(0),
)
def _() -> float:
    x, (time, event), new = _small()
    order = np.random.default_rng(22).permutation(len(x))
    moved = _predicted(x[order], (time[order], event[order]), new)
    return _gap(_usual(), moved)


@check(
    "RP-3",
    "R10",
    "Times in a unit 1,000 times as small: largest relative difference",
    "Predictions in the former unit",
    at_most(1e-9),
)
def _() -> float:
    x, (time, event), new = _small()
    return _gap(_usual() * 1e3, _predicted(x, (time * 1e3, event), new))


@check(
    "RP-4",
    "R10",
    "One thread and two: largest difference",
    DEFINITION,
    at_most(0),
)
def _() -> float:
    x, y, new = _small()
    return _gap(_usual(), _predicted(x, y, new, n_jobs=2))


@check(
    "RP-5",
    "R10",
    "A model that was saved and loaded: largest difference",
    DEFINITION,
    at_most(0),
)
def _() -> float:
    x, y, new = _small()
    model = CensoredQuantileRegressor(random_state=0).fit(x, y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path)
        read = load_model(path)
    return _gap(*(m.predict_quantiles(new, LEVELS, beyond="extrapolate") for m in (model, read)))


@check(
    "RP-6",
    "R10",
    "The model as an ONNX file in double precision: largest relative difference",
    "Predictions of the model in Python",
    at_most(1e-8),
)
def _() -> float:
    try:
        import onnxruntime
    except ImportError:
        raise NotApplicableError("the package onnxruntime is not installed") from None
    x, y, new = _small()
    model = CensoredQuantileRegressor(random_state=0).fit(x, y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        try:
            model.to_onnx(path, LEVELS, dtype="float64")
        except ImportError:
            raise NotApplicableError("the package onnx is not installed") from None
        content = path.read_bytes()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    (found,) = session.run(["quantiles"], {"X": new})
    return _gap(model.predict_quantiles(new, LEVELS, beyond="extrapolate"), found)


# Difficult data

check = STRESS.check
RULE = "Documented: increasing predictions, or one sentence that refuses"


def _estimators() -> Mapping[str, Any]:
    return {
        "cox": CoxQuantileRegressor(),
        "aft": AFTRegressor(),
        "linear": LinearQuantileRegressor(LEVELS),
        "boosted": BoostedQuantileRegressor(random_state=0),
        "recommended": CensoredQuantileRegressor(random_state=0),
    }


def _faults(x: Floats, y: Any, new: Floats | None = None) -> float:
    """Return how many estimators neither answer in order nor refuse in one sentence."""
    return float(sum(1 for _ in _failing(x, y, x[:20] if new is None else new)))


def _failing(x: Floats, y: Any, new: Floats) -> Iterator[str]:
    for name, estimator in _estimators().items():
        try:
            found = estimator.fit(x, y).predict_quantiles(new, LEVELS, beyond="extrapolate")
        except ValueError as error:  # NoEventsError is one
            if len(str(error)) < 20 or "\n" in str(error).strip():
                yield name
        else:
            if np.isnan(found).any() or (np.diff(found, axis=1) < 0).any() or (found < 0).any():
                yield name


FAULTS = "estimators of five that neither predict in order nor refuse in one sentence"


@check("NS-1", "R11", f"Only five different times among 200 rows: {FAULTS}", RULE, at_most(0))
def _() -> float:
    x, (time, event) = _weibull(np.random.default_rng(31), 200)
    return _faults(x, (np.ceil(np.minimum(time, 4.9)), event))


@check("NS-2", "R11", f"99 % of 1,000 rows censored: {FAULTS}", RULE, at_most(0))
def _() -> float:
    x, (time, event) = _weibull(np.random.default_rng(32), 1_000)
    seen = np.flatnonzero(event)[:10]
    return _faults(x, (time, np.isin(np.arange(1_000), seen)))


@check("NS-3", "R11", f"One event among 100 rows: {FAULTS}", RULE, at_most(0))
def _() -> float:
    x, (time, event) = _weibull(np.random.default_rng(33), 100)
    return _faults(x, (time, np.arange(100) == np.flatnonzero(event)[3]))


@check(
    "NS-4",
    "R11",
    "No event at all: estimators of five that do not refuse with NoEventsError",
    RULE,
    at_most(0),
)
def _() -> float:
    x, (time, event) = _weibull(np.random.default_rng(34), 100)
    n_wrong = 0
    for estimator in _estimators().values():
        try:
            estimator.fit(x, (time, np.zeros_like(event)))
        except NoEventsError:
            continue
        n_wrong += 1
    return float(n_wrong)


@check(
    "NS-5",
    "R11",
    "Times of the order of 1e-9 and of 1e9: largest relative difference of predictions, in the "
    "former unit",
    "Predictions for times of the order of 1",
    at_most(1e-6),
    at_most(1e-6),
)
def _() -> list[float]:
    x, (time, event), new = _small()
    usual = _answers(x, (time, event), new)
    return [_gap(usual, _answers(x, (time * s, event), new) / s) for s in (1e-9, 1e9)]


def _answers(x: Floats, y: Any, new: Floats) -> Floats:
    """Return predictions of the estimators that learn no structure, one after the other."""
    models = [each for name, each in _estimators().items() if name in ("cox", "aft", "linear")]
    found = [m.fit(x, y).predict_quantiles(new, LEVELS, beyond="extrapolate") for m in models]
    return np.stack(found)


@check(
    "NS-6",
    "R11",
    f"A constant column and one that is there twice: {FAULTS}",
    RULE,
    at_most(0),
)
def _() -> float:
    x, y = _weibull(np.random.default_rng(36), 200)
    return _faults(np.column_stack([x, np.ones(200), x[:, 0]]), y)


@check(
    "NS-7",
    "R11",
    "Features in other units, 1e6 times and a millionth: largest relative difference of the "
    "predictions of Cox's, accelerated and linear regression",
    "Predictions in the former units",
    at_most(1e-6),
)
def _() -> float:
    x, y, new = _small()
    unit = np.array([1e6, 1e-6])
    return _gap(_answers(x, y, new), _answers(x * unit, y, new * unit))


@check("NS-8", "R11", f"New rows with features of 1e300: {FAULTS}", RULE, at_most(0))
def _() -> float:
    x, y = _weibull(np.random.default_rng(38), 200)
    return _faults(x, y, np.array([[1e300, 0.0], [-1e300, 1e300]]))


@check(
    "NS-9",
    "R11",
    "Infinite features, missing times, negative weights: inputs of three that are not refused",
    "Documented: a ValueError that says what is wrong",
    at_most(0),
)
def _() -> float:
    x, (time, event) = _weibull(np.random.default_rng(39), 100)
    infinite, missing = x.copy(), time.copy()
    infinite[3, 0], missing[3] = np.inf, np.nan
    wrong: list[dict[str, Any]] = [
        {"X": infinite, "y": (time, event)},
        {"X": x, "y": (missing, event)},
        {"X": x, "y": (time, event), "sample_weight": -np.ones(100)},
    ]
    n_taken = 0
    for arguments in wrong:
        try:
            CoxQuantileRegressor().fit(**arguments)
        except ValueError:
            continue
        n_taken += 1
    return float(n_taken)
