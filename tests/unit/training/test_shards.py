"""Rows on disk: none lost, none doubled, in random order, and whole or not there at all."""

import errno
import re

import numpy as np
import pytest

from block_streams import ArrayBlocks, Killed, plain, table_of
from censquant._engine.objectives._grid import ObservedPinball, Pinball, Portnoy
from censquant._engine.training import _shard_writer as writer
from censquant._engine.training._loop import TrainingConfig, train
from censquant._engine.training._rows import Rows
from censquant._engine.training._shard_writer import write_shards
from censquant._engine.training._shards import ShardFolder
from censquant.exceptions import ModelFileError
from censquant.survival._transform import TimeTransform
from toys import dense

UNCHANGED = TimeTransform()


@pytest.fixture
def small(monkeypatch):
    """Buckets of about a hundred rows, blocks of 40, notes after every block."""
    monkeypatch.setattr(writer, "_BUCKET_BYTES", 2_000)
    monkeypatch.setattr(writer, "_BLOCK_ROWS", 40)
    monkeypatch.setattr(writer, "_JOURNAL_ROWS", 1)


def written(folder, stream=None, **options):
    return write_shards(stream or ArrayBlocks(), folder / "shards", plain, **options)


@pytest.mark.usefixtures("small")
def test_shards_hold_every_row_once(tmp_path):
    stream = ArrayBlocks()
    stored = written(tmp_path, stream)
    assert len(stored.lengths) > 5
    weight = stream.weight / stream.weight.mean()
    table = np.column_stack((stream.x, stream.time, stream.event, weight)).astype(np.float32)
    np.testing.assert_allclose(
        table_of(stored.rows(UNCHANGED)), table[np.lexsort(table.T)], rtol=1e-6
    )


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("size", [1, 7, 128, 999, 1000, 5000])
def test_batches_give_every_row_once_and_are_full_but_for_the_last(tmp_path, size):
    rows = written(tmp_path).rows(UNCHANGED)
    batches = list(rows.batches(np.random.default_rng(0), size))
    lengths = [len(batch) for batch in batches]
    assert lengths[:-1] == [size] * (len(lengths) - 1)
    assert len(lengths) == -(-1000 // size)
    times = np.concatenate([batch.time for batch in batches])
    expected = np.concatenate([block.time for block in rows.blocks(1000)])
    np.testing.assert_array_equal(np.sort(times), np.sort(expected))
    assert (times != expected).mean() > 0.9


@pytest.mark.usefixtures("small")
def test_batches_are_random_samples_of_data_that_were_sorted(tmp_path):
    stream = ArrayBlocks(20_000)
    stream.time.sort()
    rows = written(tmp_path, stream).rows(UNCHANGED)
    means = [batch.time.mean() for batch in rows.batches(np.random.default_rng(0), 200)]
    # Means of 200 random rows have this standard deviation.
    assert np.std(means) == pytest.approx(stream.time.std() / np.sqrt(200), rel=0.25)
    # Mean of so many rows of a sorted file: the start of the shards would lie far from it.
    sample = rows.between(0, 2_000).sample()
    assert abs(sample.time.mean() - stream.time.mean()) < 4 * stream.time.std() / np.sqrt(2_000)


@pytest.mark.usefixtures("small")
def test_a_training_on_shards_is_one_on_the_rows_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "_BUCKET_BYTES", 1 << 26)
    rows = written(tmp_path).rows(UNCHANGED)
    (block,) = rows.blocks(1000)

    class OneShard(np.random.Generator):
        """Does not draw the order of the only file."""

        def permutation(self, n):
            return np.zeros(1, int) if n == 1 else super().permutation(n)

    results = []
    for source in (rows, block):
        network = dense(3)
        rng = OneShard(np.random.PCG64(0))
        train(network, Pinball((0.2, 0.5, 0.8)), source, TrainingConfig(max_epochs=3), rng)
        results.append(network.parameters)
    np.testing.assert_array_equal(*results)


@pytest.mark.usefixtures("small")
def test_an_objective_prepares_every_batch(tmp_path):
    rows = written(tmp_path).rows(UNCHANGED).prepared(ObservedPinball((0.5,)).prepare)
    for batch in rows.batches(np.random.default_rng(0), 64):
        assert (batch.weight[~batch.event] == 0).all()
        assert (batch.weight[batch.event] > 0).all()


def test_a_preparation_that_drops_rows_is_refused(tmp_path):
    rows = written(tmp_path).rows(UNCHANGED).prepared(lambda rows: rows.take(np.arange(3)))
    message = (
        "prepare must keep all rows where they are not in memory, got 3 of 10: give the others the "
        "weight 0."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        next(rows.batches(np.random.default_rng(0), 10))


@pytest.mark.usefixtures("small")
def test_levels_belong_to_their_rows_in_any_order(tmp_path):
    rows = written(tmp_path).rows(UNCHANGED)
    level = rows.scratch(np.float32)
    assert level.shape == (1000,)
    assert (level == 0).all()
    start = 0
    for block in rows.blocks(64):
        level[start : start + len(block)] = block.time
        start += len(block)
    for batch in rows.with_level(level).batches(np.random.default_rng(0), 33):
        np.testing.assert_array_equal(batch.level, batch.time)


@pytest.mark.usefixtures("small")
def test_a_split_holds_out_a_share_and_keeps_the_others(tmp_path):
    rows = written(tmp_path).rows(UNCHANGED)
    kept, held = rows.split(0.25, np.random.default_rng(0))
    assert (len(kept), len(held)) == (750, 250)
    both = np.concatenate((table_of(kept), table_of(held)))
    np.testing.assert_array_equal(both[np.lexsort(both.T)], table_of(rows))


def test_times_are_transformed_as_they_are_read(tmp_path):
    stored = written(tmp_path)
    log = TimeTransform(log=True, center=0.5, scale=2.0)
    plain_rows, log_rows = (next(stored.rows(each).blocks(50)) for each in (UNCHANGED, log))
    np.testing.assert_allclose(log_rows.time, log.forward(plain_rows.time), rtol=1e-4, atol=1e-6)


def test_rows_of_weight_zero_are_left_out(tmp_path):
    stream = ArrayBlocks()
    stream.weight[:300] = 0.0
    stored = written(tmp_path, stream)
    assert len(stored.rows(UNCHANGED)) == stored.summary.n_rows == 700


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("killed_after", [0, 130, 700, 1000])
def test_a_killed_writing_is_resumed_to_the_same_bits(tmp_path, killed_after, monkeypatch):
    stream = ArrayBlocks(killed_after=killed_after if killed_after < 1000 else None)
    if killed_after == 1000:  # while the third shard is written
        monkeypatch.setattr(writer, "records_digest", _killing(writer.records_digest, 3))
    with pytest.raises(Killed):
        written(tmp_path, stream)
    assert not (tmp_path / "shards").exists()
    monkeypatch.undo()
    monkeypatch.setattr(writer, "_BUCKET_BYTES", 2_000)
    monkeypatch.setattr(writer, "_BLOCK_ROWS", 40)
    resumed = ArrayBlocks()
    stored = written(tmp_path, resumed)
    whole = write_shards(ArrayBlocks(), tmp_path / "others", plain)
    assert stored.digests == whole.digests
    np.testing.assert_array_equal(stored.summary.target()[0].time, whole.summary.target()[0].time)
    assert resumed.n_read < 1000 or killed_after < 334  # what is left of a part is read again
    assert sorted(path.name for path in tmp_path.iterdir()) == ["others", "shards"]


def _killing(function, n_calls):
    calls = []

    def kills(*args):
        calls.append(args)
        if len(calls) == n_calls:
            raise Killed
        return function(*args)

    return kills


def test_the_journal_of_other_data_is_not_resumed(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "_JOURNAL_ROWS", 1)
    monkeypatch.setattr(writer, "_BLOCK_ROWS", 40)
    with pytest.raises(Killed):
        written(tmp_path, ArrayBlocks(killed_after=500))
    other = ArrayBlocks(seed=1)
    stored = written(tmp_path, other)
    assert other.n_read == 1000
    assert stored.digests == write_shards(ArrayBlocks(seed=1), tmp_path / "o", plain).digests


def test_shards_that_are_there_are_opened_without_reading_the_data(tmp_path):
    first = written(tmp_path)
    again = ArrayBlocks()
    opened = written(tmp_path, again)
    assert again.n_read == 0
    assert opened.digests == first.digests
    np.testing.assert_array_equal(opened.summary.moments.mean, first.summary.moments.mean)


def test_shards_of_other_data_are_refused(tmp_path):
    written(tmp_path)
    message = (
        f"shards must name a folder without the shards of other data, got "
        f"{str(tmp_path / 'shards')!r}, written from other files, from other columns or with "
        "another standardize: delete it, or name another."
    )
    with pytest.raises(FileExistsError, match=re.escape(message)):
        written(tmp_path, ArrayBlocks(seed=1))


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path):
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards" / "notes.txt").write_text("mine")
    message = (
        "shards must name a new folder, an empty one, or one that fit_dataset wrote, got "
        f"{str(tmp_path / 'shards')!r}, which holds other files."
    )
    with pytest.raises(FileExistsError, match=re.escape(message)):
        written(tmp_path)
    assert [path.name for path in tmp_path.rglob("*")] == ["shards", "notes.txt"]


def test_an_empty_folder_may_become_the_shards(tmp_path):
    (tmp_path / "shards").mkdir()
    assert sum(written(tmp_path).lengths) == 1000


@pytest.mark.parametrize("damage", ["flipped", "cut", "gone"])
def test_a_damaged_shard_is_refused(tmp_path, damage):
    written(tmp_path)
    path = tmp_path / "shards" / "shard-00000.npy"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content if damage == "flipped" else content[:-7])
    if damage == "gone":
        path.unlink()
    message = f"{str(path)!r} is damaged: its content is not that of its digest; delete the folder"
    with pytest.raises(ModelFileError, match=re.escape(message)):
        ShardFolder.open(tmp_path / "shards")


def test_a_full_disk_is_one_sentence_and_nothing_is_left(tmp_path, monkeypatch):
    def full(path, values):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writer, "_append_bytes", full)
    message = (
        "The disk is full: the shards of the arrays need about 1.8e-05 GB in "
        f"{str(tmp_path)!r} while they are written, and nothing was kept; free some space, or name "
        "another folder by shards."
    )
    with pytest.raises(OSError, match=re.escape(message)) as caught:
        written(tmp_path)
    assert caught.value.errno == errno.ENOSPC
    assert not list(tmp_path.iterdir())


def test_data_for_which_there_is_no_room_are_refused_before_they_are_read(tmp_path):
    stream = ArrayBlocks(size=10**18)
    with pytest.raises(
        OSError, match=r"The disk is full: the shards of the arrays need about 1\.1e"
    ):
        written(tmp_path, stream)
    assert stream.n_read == 0
    assert not list(tmp_path.iterdir())


def test_an_error_of_the_data_leaves_nothing(tmp_path):
    stream = ArrayBlocks()
    stream.time = stream.time[:500]
    with pytest.raises((IndexError, ValueError)):
        written(tmp_path, stream)
    assert not list(tmp_path.iterdir())


def test_two_processes_do_not_write_the_same_shards(tmp_path):
    class Second(ArrayBlocks):
        def blocks(self, part, n_rows):
            message = (
                f"Another process is writing the shards {str(tmp_path / 'shards')!r}: wait until "
                "it has ended."
            )
            with pytest.raises(BlockingIOError, match=re.escape(message)):
                written(tmp_path)
            return super().blocks(part, n_rows)

    assert sum(written(tmp_path, Second()).lengths) == 1000


def test_the_judge_of_shards_is_that_of_their_sample(tmp_path):
    rows = written(tmp_path).rows(UNCHANGED)
    whole = Rows.from_arrays(
        *[np.concatenate([block.x for block in rows.blocks(100)])],
        time=np.concatenate([block.time for block in rows.blocks(100)]),
        event=np.concatenate([block.event for block in rows.blocks(100)]),
        weight=np.concatenate([block.weight for block in rows.blocks(100)]),
    )
    output = np.full((1000, 1), 0.7, np.float32)
    one, other = (Portnoy((0.5,)).bind(each) for each in (rows.sample(), whole))
    assert one.validation_loss(output, whole) == other.validation_loss(output, whole)
