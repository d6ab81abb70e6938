"""Thousands of damaged and forged files: each is refused with one sentence, or harmless.

Damage is never opened to another result: the digest sees to that. Files whose digest was made anew
for the change, as a forger would, may hold another model, but no other exception comes of them, and
neither memory nor time beyond bounds.
"""

import json
import re
import time
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import censquant
from censquant._engine.objectives._grid import Pinball
from censquant._engine.training._checkpoint import Checkpoint
from censquant._engine.training._loop import TrainingConfig, train
from censquant._files import write_arrays
from censquant._storage._codec import from_part, to_part
from censquant._storage._persistence import open_file
from censquant.exceptions import ModelFileError, TrainingDivergedError
from mutations import mutated_file, mutated_lines, sign
from toys import TAUS, censored_rows, dense, stop_after

COUNTS = [500, pytest.param(12_000, marks=pytest.mark.slow)]
MOST_MEMORY = 200e6
MOST_SECONDS = 5.0  # a few hundredths on an idle machine

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 1, (40, 2))
TIME = 1 + X[:, 0] + RNG.exponential(size=40)
LIMIT = RNG.uniform(1, 5, 40)
Y = (np.minimum(TIME, LIMIT), TIME <= LIMIT)
FRAME = pd.DataFrame(X, columns=["age", "dose"])
TINY = {"max_epochs": 1, "random_state": 0}


class Watch:
    """Opens files and notes what comes of it."""

    def __init__(self, path):
        self.path = path
        self.slowest = self.largest = 0.0
        self.counts = {"refused": 0, "same": 0, "other": 0}

    def open(self, content, opened, expected, *, may_change):
        """Write the content and open it: it is refused in one sentence, or gives what it gave."""
        self.path.write_bytes(content)
        tracemalloc.start()
        start = time.process_time()
        try:
            found = opened(self.path)
        except ModelFileError as error:
            outcome, text = "refused", str(error)
            assert text.endswith(".")
            assert "\n" not in text
            assert len(text) < 1_000
        else:
            outcome = "same" if found == expected else "other"
            assert outcome == "same" or may_change
        finally:
            self.slowest = max(self.slowest, time.process_time() - start)
            self.largest = max(self.largest, tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        self.counts[outcome] += 1
        assert self.largest < MOST_MEMORY
        assert self.slowest < MOST_SECONDS


@pytest.fixture
def watch(tmp_path):
    watch = Watch(tmp_path / "file")
    # A forged model may have any weights: numbers that overflow are its own affair.
    with np.errstate(all="ignore"):
        start = time.process_time()
        yield watch
    print(
        f"{watch.counts}, slowest {watch.slowest:.3f} s, largest {watch.largest / 1e6:.2f} MB, "
        f"{time.process_time() - start:.1f} s of CPU"
    )  # shown by pytest -rP


def models():
    """Small fitted models of every kind, each with rows to predict."""
    yield (
        censquant.CQRNN(
            [0.3, 0.6], hidden_layer_sizes=(3,), n_members=2, head="increasing", **TINY
        ),
        FRAME,
    )
    yield (
        censquant.SequentialGridNN([0.3, 0.6], hidden_layer_sizes=(2,), crossed="upper", **TINY),
        X,
    )
    yield censquant.LogNormalNN([0.3, 0.6], hidden_layer_sizes=(2,), censoring="left", **TINY), X
    yield censquant.ShapeNN([0.3], hidden_layer_sizes=(2,), max_steps=1, random_state=0), X
    yield censquant.LinearQuantileRegressor([0.2, 0.3], n_bootstrap=2, random_state=0), X
    yield censquant.CoxQuantileRegressor([0.2, 0.3], random_state=0), X
    yield censquant.AFTRegressor([0.2, 0.3], penalty=0.1, random_state=0), X
    yield censquant.CensoredQuantileForest([0.2, 0.3], n_estimators=2, random_state=0), X
    yield censquant.BoostedQuantileRegressor([0.2, 0.3], max_iter=10, random_state=0), X
    two = [
        ("cox", censquant.CoxQuantileRegressor()),
        ("network", censquant.ShapeNN(hidden_layer_sizes=(2,), max_steps=1)),
    ]
    yield censquant.PooledQuantileRegressor(two, [0.2, 0.3], cv=2, random_state=0), X
    mixed = FRAME.assign(sex=np.where(X[:, 1] > 0.5, "f", "m"))
    yield censquant.CensoredQuantileRegressor([0.2], candidates=two, cv=2, random_state=0), mixed


def predictions(model, rows):
    try:
        found = model.predict_quantiles(rows, beyond="extrapolate"), model.identified_level(rows)
    except ValueError as error:
        return str(error)  # a forged model may be one of other features
    return tuple(array.tobytes() for array in found)


# A forged model may know other levels or ranges of the features, and says so of these rows.
@pytest.mark.filterwarnings("ignore::censquant.exceptions.ExtrapolationWarning")
@pytest.mark.parametrize("n_mutations", COUNTS)
def test_no_mutation_of_a_model_file_is_opened_to_another_result(watch, n_mutations):
    rng = np.random.default_rng(1)
    originals = []
    for model, rows in models():
        model.fit(rows, Y).save(watch.path)
        originals.append((watch.path.read_bytes(), rows[:5], predictions(model, rows[:5])))
    for turn in range(n_mutations):
        content, rows, expected = originals[turn % len(originals)]
        content, signed = mutated_file(content, rng, sign)
        watch.open(
            content,
            lambda path, rows=rows: predictions(censquant.load_model(path), rows),
            expected,
            may_change=signed,
        )
    assert watch.counts["refused"] > 0.8 * n_mutations


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_mutations", COUNTS)
def test_no_mutation_of_transformers_is_opened_to_another_result(watch, n_mutations):
    rng = np.random.default_rng(2)
    rows = FRAME.assign(sex=np.where(X[:, 0] > 0.5, "f", "m"))
    transformer = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "dose"]),
        (OneHotEncoder(sparse_output=False), ["sex"]),
    ).fit(rows)
    part = to_part(transformer)
    write_arrays(watch.path, "model", {"model": part.tree()}, part.flat_arrays())
    original = watch.path.read_bytes()

    def transformed(path):
        found = open_file(path, from_part)
        try:
            return np.asarray(found.transform(rows)).tobytes()
        except Exception as error:  # a forged transformer may be one of anything
            return str(error)

    expected = transformer.transform(rows).tobytes()
    for _ in range(n_mutations):
        content, signed = mutated_file(original, rng, sign)
        watch.open(content, transformed, expected, may_change=signed)


@pytest.mark.parametrize("n_mutations", COUNTS)
def test_no_mutation_of_a_checkpoint_resumes_to_another_result(watch, n_mutations):
    rng = np.random.default_rng(3)
    rows, validation = censored_rows(20), censored_rows(10, seed=5)
    config = TrainingConfig(max_epochs=3, batch_size=16, learning_rate=0.03)

    def trained(path=None, **options):
        network = dense(dropout=0.2)
        checkpoint = None if path is None else Checkpoint(path, 100)
        try:
            history = train(
                network,
                Pinball(TAUS),
                rows,
                config,
                np.random.default_rng(0),
                validation=validation,
                checkpoint=checkpoint,
                **options,
            )
        except TrainingDivergedError:  # forged parameters may be anything finite
            return None
        return network.state()["parameters"].tobytes(), json.dumps(history, sort_keys=True)

    expected = trained()
    trained(watch.path, callbacks=[stop_after(2)])
    original = watch.path.read_bytes()
    for _ in range(n_mutations):
        content, signed = mutated_file(original, rng, sign)
        watch.open(content, trained, expected, may_change=signed)
    assert watch.counts["refused"] > 0.8 * n_mutations


def row(seed):
    key = {"suite": "main", "dataset": "gbsg", "method": "cqrnn", "split": "random", "variant": ""}
    scores = {"cindex": 0.5, "uql": float("nan"), "trace_loss": [1.0, 2.0], "error": ""}
    return {**key, "seed": seed, **scores}


@pytest.mark.parametrize("n_mutations", COUNTS)
def test_no_mutation_of_a_file_of_rows_raises_anything_but_its_sentence(watch, n_mutations):
    from censquant_bench import ResultsFile

    rng = np.random.default_rng(4)
    with ResultsFile(watch.path) as results:
        results.append([row(seed) for seed in range(4)])
    original = watch.path.read_bytes()

    def opened(path):
        try:
            with ResultsFile(path) as results:
                return len(results.rows), len(results.finished)
        except ValueError as error:
            if re.search("not a row of results|not a results file|which are not mixed", str(error)):
                raise ModelFileError(str(error)) from None
            raise

    for _ in range(n_mutations):
        # Rows have no digest: a changed digit is not noticed.
        watch.open(mutated_lines(original, rng), opened, (4, 4), may_change=True)
