"""Fits to files: as good as fits to arrays, with the same attributes, in bounded memory."""

import gc
import re
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import censquant
from block_streams import Killed
from censquant import (
    CQRNN,
    AsymmetricLaplaceNN,
    DeepQuantReg,
    LogNormalNN,
    SequentialGridNN,
    ShapeNN,
    UncensoredOnlyNN,
    WeibullNN,
)
from censquant._engine.training import _shard_writer as writer
from censquant._engine.training._checkpoint import Checkpoint
from censquant.exceptions import ConstantFeatureWarning
from censquant.io import TableError

TAUS = [0.1, 0.5, 0.9]
NAMES = ["a", "b"]


def law(n, seed=0):
    """Log-normal times with a mean that bends, censored independently."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(n, 2))
    center = 0.5 * x[:, 0] + np.sin(2 * x[:, 1])
    time, end = np.exp(center + 0.4 * rng.normal(size=n)), rng.exponential(5.0, n)
    frame = pd.DataFrame(x, columns=NAMES).assign(t=np.minimum(time, end), e=time <= end)
    return frame, np.exp(center[:, None] + 0.4 * norm.ppf(TAUS))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Rows in two files, and the same in memory."""
    folder = tmp_path_factory.mktemp("data")
    frame, _ = law(6_000)
    frame[:4_000].to_parquet(folder / "1.parquet", index=False)
    frame[4_000:].astype({"e": int}).to_csv(folder / "2.csv", index=False)
    return folder, frame


def error(model, seed=1):
    new, true = law(2_000, seed)
    found = model.predict_quantiles(new[NAMES], TAUS, beyond="extrapolate")
    return np.abs(np.log(np.maximum(found, 1e-3)) - np.log(true)).mean()


MODELS = {
    "CQRNN": CQRNN(TAUS, max_epochs=15, time_transform="log", random_state=0),
    "early": CQRNN(TAUS, max_epochs=15, time_transform="log", early_stopping=True, random_state=0),
    "em": CQRNN(TAUS, max_epochs=15, time_transform="log", em_epochs=3, random_state=0),
    "shape": ShapeNN(family="log-normal", random_state=0),
    "members": ShapeNN(n_members=2, n_jobs=2, random_state=0),
    "log-normal": LogNormalNN(max_epochs=10, dropout=0.0, random_state=0),
    "weibull": WeibullNN(max_epochs=10, dropout=0.0, random_state=0),
    "laplace": AsymmetricLaplaceNN(max_epochs=10, dropout=0.0, random_state=0),
    "deep": DeepQuantReg(TAUS, max_epochs=10, time_transform="log", random_state=0),
    "events": UncensoredOnlyNN(TAUS, max_epochs=10, time_transform="log", random_state=0),
    "grid": SequentialGridNN(TAUS, max_epochs=10, time_transform="log", random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_to_files_is_as_good_as_one_to_arrays(data, name):
    folder, frame = data
    model = MODELS[name]
    on_disk = error(model.fit_dataset(folder, time="t", event="e"))
    in_memory = error(model.fit(frame[NAMES], (frame["t"], frame["e"])))
    # Two trainings in different orders of rows differ by this much.
    assert on_disk < 1.3 * in_memory + 0.01


def test_true_quantiles_are_found_from_files(tmp_path):
    frame, _ = law(30_000, seed=3)
    frame.to_parquet(tmp_path / "d.parquet", index=False)
    model = CQRNN(TAUS, max_epochs=20, time_transform="log", batch_size=256, random_state=0)
    assert error(model.fit_dataset(tmp_path, time="t", event="e")) < 0.06


def test_attributes_are_those_of_a_fit_to_arrays(data):
    folder, frame = data
    model = CQRNN(max_epochs=1, random_state=0)
    stored = model.fit_dataset(folder, time="t", event="e")
    facts = (stored.follow_up_, stored.horizon_, stored.unique_times_, stored._feature_range)
    center, scale = stored.models_[0].feature_scale.center, stored.models_[0].feature_scale.scale
    transform, names = stored.time_transform_, list(stored.feature_names_in_)
    attributes = set(vars(stored))
    plain = model.fit(frame[NAMES], (frame["t"], frame["e"]))
    assert attributes == set(vars(plain))
    assert facts[0] == pytest.approx(plain.follow_up_)
    assert facts[1] == pytest.approx(plain.horizon_)
    np.testing.assert_allclose(facts[2], plain.unique_times_)
    np.testing.assert_allclose(facts[3], plain._feature_range)
    np.testing.assert_allclose(center, plain.models_[0].feature_scale.center)
    np.testing.assert_allclose(scale, plain.models_[0].feature_scale.scale)
    assert transform.center == pytest.approx(plain.time_transform_.center)
    assert transform.scale == pytest.approx(plain.time_transform_.scale)
    assert names == NAMES
    assert plain.n_features_in_ == 2


def test_the_same_seed_gives_the_same_bits(data):
    folder, frame = data
    first, second = (
        ShapeNN(max_steps=20, random_state=3)
        .fit_dataset(folder, time="t", event="e")
        .predict(frame[NAMES][:50])
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_a_model_of_files_is_saved_and_loaded(data, tmp_path):
    folder, frame = data
    model = ShapeNN(max_steps=20, random_state=0).fit_dataset(folder, time="t", event="e")
    model.save(tmp_path / "m.cq")
    loaded = censquant.load_model(tmp_path / "m.cq")
    np.testing.assert_array_equal(
        loaded.predict_quantiles(frame[NAMES][:9], TAUS, beyond="nan"),
        model.predict_quantiles(frame[NAMES][:9], TAUS, beyond="nan"),
    )


@pytest.mark.parametrize("options", [{"standardize": False}, {"censoring": "left"}])
def test_options_of_the_data_hold_for_files_too(data, options):
    folder, frame = data
    model = CQRNN(TAUS, max_epochs=8, random_state=0, **options)
    x = frame[NAMES][:500]
    found = model.fit_dataset(folder, time="t", event="e").predict_quantiles(
        x, beyond="extrapolate"
    )
    plain = model.fit(frame[NAMES], (frame["t"], frame["e"])).predict_quantiles(
        x, beyond="extrapolate"
    )
    assert np.abs(found - plain).mean() < 0.25 * plain.std()


def test_shards_that_are_kept_serve_other_fits(data, tmp_path, monkeypatch):
    folder, _ = data
    shards = tmp_path / "shards"
    first = ShapeNN(max_steps=20, random_state=0)
    predicted = first.fit_dataset(folder, time="t", event="e", shards=shards).history_
    monkeypatch.setattr(writer._Writing, "run", None)  # nothing is written again
    again = ShapeNN(max_steps=20, random_state=0)
    assert again.fit_dataset(folder, time="t", event="e", shards=shards).history_ == predicted
    other = CQRNN(max_epochs=1, time_transform="log", random_state=0)
    other.fit_dataset(folder, time="t", event="e", shards=shards)
    with pytest.raises(FileExistsError, match="written from other files, from other columns"):
        other.fit_dataset(folder, time="t", event="e", features=["a"], shards=shards)


def test_temporary_shards_vanish(data, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ShapeNN(max_steps=5).fit_dataset(data[0], time="t", event="e")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("options", [{}, {"em_epochs": 3}])
def test_a_training_on_shards_resumes_from_its_checkpoint(data, tmp_path, options):
    folder, frame = data
    x = frame[NAMES][:20]

    class Stop:
        def on_start(self, run): ...
        def on_epoch(self, run):
            if run.n_epochs == 4:
                raise Killed

        def on_end(self, run): ...

    def fitted(**more):
        model = CQRNN(TAUS, max_epochs=6, random_state=0, **options)
        model.fit_dataset(folder, time="t", event="e", shards=tmp_path / "shards", **more)
        return model.predict_quantiles(x, beyond="extrapolate")

    whole = fitted()
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=4)
    with pytest.raises(Killed):
        fitted(checkpoint=checkpoint, callbacks=[Stop()])
    np.testing.assert_array_equal(fitted(checkpoint=checkpoint), whole)


def test_weights_count_rows_in_proportion(tmp_path):
    frame, _ = law(4_000)
    low = frame["t"] < frame["t"].median()
    frame.assign(w=np.where(low, 20.0, 0.1)).to_parquet(tmp_path / "d.parquet")
    options = {"time": "t", "event": "e", "features": NAMES}
    model = ShapeNN(random_state=0)
    weighted = model.fit_dataset(tmp_path, weight="w", **options).predict(frame[NAMES][:200])
    plain = model.fit_dataset(tmp_path, **options).predict(frame[NAMES][:200])
    assert (weighted < plain).mean() > 0.9


def test_data_without_events_are_refused_and_leave_nothing(tmp_path):
    frame, _ = law(50)
    path = tmp_path / "d.parquet"
    frame.assign(e=False).to_parquet(path, index=False)
    message = f"No row of {str(path)!r} has the event, so that no time to it can be learned"
    with pytest.raises(TableError, match=re.escape(message)):
        CQRNN().fit_dataset(path, time="t", event="e", shards=tmp_path / "shards")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("n_rows", "words"), [(0, "no rows"), (1, "one row only")])
def test_data_with_too_few_rows_are_refused(tmp_path, n_rows, words):
    path = tmp_path / "d.parquet"
    law(5)[0][:n_rows].to_parquet(path, index=False)
    message = f"{str(path)!r} has {words} of positive weight to learn from."
    with pytest.raises(ValueError, match=re.escape(message)):
        CQRNN().fit_dataset(path, time="t", event="e")


def test_a_bad_row_in_the_last_file_leaves_nothing(tmp_path):
    frame, _ = law(100)
    folder = tmp_path / "data"
    folder.mkdir()
    frame.to_parquet(folder / "1.parquet", index=False)
    frame.assign(a=np.nan).to_parquet(folder / "2.parquet", index=False)
    with pytest.raises(TableError, match=re.escape("got a missing value in row 1: impute or drop")):
        CQRNN().fit_dataset(folder, time="t", event="e", shards=tmp_path / "shards")
    assert list(tmp_path.iterdir()) == [folder]


def test_wrong_parameters_are_refused_before_anything_is_read(tmp_path):
    with pytest.raises(ValueError, match="max_epochs"):
        CQRNN(max_epochs=0).fit_dataset(tmp_path / "nowhere", time="t", event="e")


def test_times_that_a_family_cannot_have_are_found_in_any_row(tmp_path):
    frame, _ = law(300)
    frame.loc[299, ["t", "e"]] = [-1.0, True]
    frame.to_parquet(tmp_path / "d.parquet", index=False)
    with pytest.raises(
        ValueError, match="time must be positive for WeibullNN, got a minimum of -1"
    ):
        WeibullNN().fit_dataset(tmp_path, time="t", event="e")


def test_constant_features_are_named(tmp_path):
    frame, _ = law(200)
    frame.assign(c=1.0).to_parquet(tmp_path / "d.parquet", index=False)
    with pytest.warns(ConstantFeatureWarning, match="same in all rows \\('c'\\)") as caught:
        ShapeNN(max_steps=5).fit_dataset(tmp_path, time="t", event="e")
    assert caught[0].filename == __file__


def test_held_out_rows_need_events(tmp_path):
    frame, _ = law(40)
    frame.assign(e=np.arange(40) == 0).to_parquet(tmp_path / "d.parquet", index=False)
    with pytest.raises(ValueError, match=r"early_stopping needs events among the 0\.1 of rows"):
        CQRNN(early_stopping=True).fit_dataset(tmp_path, time="t", event="e")


def peak(function):
    """Most bytes that were held at a time beyond those before."""
    gc.collect()
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("model", [CQRNN(max_epochs=1, batch_size=4_096), ShapeNN(max_steps=5)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_fit_to_arrays_holds_at_most_two_and_a_half_times_the_features(model, dtype):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300_000, 10)).astype(dtype)
    y = (np.exp(0.3 * x[:, 0] + rng.normal(size=len(x))), rng.uniform(size=len(x)) < 0.7)
    model.fit(x[:500], (y[0][:500], y[1][:500]))  # compiles and imports
    # Work space that does not grow with the rows is not counted.
    fixed = 10_000_000
    assert peak(lambda: model.fit(x, y)) < 2.5 * x.size * 4 + fixed


def test_memory_of_a_fit_to_files_does_not_grow_with_the_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "_BUCKET_BYTES", 1 << 20)
    monkeypatch.setattr(writer, "_BLOCK_ROWS", 8_192)
    monkeypatch.setattr("censquant._engine.training._shards._SAMPLE_ROWS", 5_000)
    monkeypatch.setattr("censquant._engine.training._shards._SAMPLE_ROWS", 5_000)
    rng = np.random.default_rng(0)
    peaks = []
    for n_rows in (40_000, 200_000):
        folder = tmp_path / str(n_rows)
        folder.mkdir()
        for number in range(n_rows // 20_000):
            frame, _ = law(20_000, seed=int(rng.integers(1_000_000)))
            frame.to_parquet(folder / f"{number:03d}.parquet", index=False)
        model = CQRNN(TAUS, max_epochs=1, batch_size=2_048, random_state=0)
        peaks.append(peak(lambda m=model, f=folder: m.fit_dataset(f, time="t", event="e")))
    assert peaks[1] < 1.15 * peaks[0]
