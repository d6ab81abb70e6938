"""Bad input ends in one sentence, and the cluster stays usable."""

import dask.array as da
import dask.dataframe as dd
import distributed
import numpy as np
import pytest

from censquant.dask import DaskCensoredQuantileRegressor, DaskCQRNN
from censquant.exceptions import NoEventsError
from cluster_rows import COLUMNS, local_cluster, partitioned


@pytest.fixture
def halves(frame):
    return [frame.iloc[:100].copy(), frame.iloc[100:200].copy()]


def refusal(client, error, *args, model=None, **columns):
    """Text of the error of a fit, after which the cluster still computes and holds nothing."""
    with pytest.raises(error) as raised:
        (model or DaskCQRNN(max_epochs=1, random_state=0)).fit(*args, **columns or COLUMNS)
    assert client.submit(sum, [1, 2], pure=False).result(timeout=600) == 3
    assert "\n" not in str(raised.value)
    return str(raised.value)


class TestPartitions:
    def test_a_missing_column(self, client, halves):
        text = refusal(client, ValueError, partitioned(halves[0], halves[1].drop(columns="b")))
        assert text == (
            "In partition 1: every partition must have the columns ['a', 'b', 'time', 'event'], "
            "got one without ['b']."
        )

    def test_a_missing_column_where_only_some_are_read(self, client, halves):
        rows = partitioned(halves[0], halves[1].drop(columns="a"))
        text = refusal(client, ValueError, rows, features=["a"], **COLUMNS)
        assert text.startswith("Every partition must have the columns of the first, got one withou")
        assert "'a'" in text

    def test_a_missing_value_of_a_feature(self, client, halves):
        halves[1].loc[halves[1].index[3], "b"] = np.nan
        assert refusal(client, ValueError, partitioned(*halves)) == (
            "In partition 1: Input X contains NaN: X must be finite, got NaN in the columns 'b'; "
            "impute or drop the rows."
        )

    def test_a_missing_time(self, client, halves):
        halves[0].loc[halves[0].index[3], "time"] = np.nan
        text = refusal(client, ValueError, partitioned(*halves))
        assert text.startswith("In partition 0: ")
        assert "NaN" in text

    def test_a_negative_duration(self, client, halves):
        halves[1].loc[halves[1].index[3], "time"] = -2.5
        model = DaskCensoredQuantileRegressor(random_state=0)
        assert refusal(client, ValueError, partitioned(*halves), model=model) == (
            "In partition 1: y must hold durations, none of them negative, got 1 of 100 times "
            "below 0, the smallest -2.5: check whether start and end are swapped, or pass "
            "allow_negative=True to the estimator if these values are meant."
        )

    def test_text_among_features(self, client, halves):
        halves[1] = halves[1].assign(b="high")
        text = refusal(client, ValueError, partitioned(*halves))
        assert text.startswith("In partition 1: X must hold numbers, got other values in the colum")

    def test_event_codes_one_and_two(self, client, halves):
        halves[1] = halves[1].assign(event=np.where(halves[1]["event"], 2, 1))
        text = refusal(client, ValueError, partitioned(*halves))
        assert text.startswith("In partition 1: event")

    def test_targets_of_another_length(self, client, halves):
        X = partitioned(*(half[["a", "b"]] for half in halves))
        y = partitioned(halves[0][["time", "event"]], halves[1][["time", "event"]].iloc[:50])
        with pytest.raises(ValueError, match="In partition 1: y must have one row for each row of"):
            DaskCQRNN().fit(X, y)

    def test_no_event_anywhere(self, client, halves):
        rows = partitioned(*(half.assign(event=False) for half in halves))
        expected = (
            "The data have no event: all 200 rows of 2 partitions are censored, so no quantile can "
            "be fitted."
        )
        assert refusal(client, NoEventsError, rows) == expected
        model = DaskCensoredQuantileRegressor(random_state=0)
        assert refusal(client, NoEventsError, rows, model=model) == expected

    def test_partitions_that_are_all_empty(self, client, halves):
        text = refusal(client, NoEventsError, partitioned(*(half.iloc[:0] for half in halves)))
        assert text.startswith("The data have no event: all 0 rows of 2 partitions")


class TestArguments:
    @pytest.fixture
    def rows(self, halves):
        return partitioned(*halves)

    def test_data_in_memory(self, client, frame):
        assert refusal(client, TypeError, frame) == (
            "X must be a DataFrame or an Array of dask, got DataFrame: use "
            "dask.dataframe.from_pandas, or the estimator without Dask."
        )

    @pytest.mark.parametrize("names", [{"time": "time"}, {"event": "event"}, {"weight": "a"}])
    def test_no_target(self, client, rows, names):
        text = refusal(client, ValueError, rows, **names)
        assert text == (
            "fit must be given the columns time= and event= of one frame, or y, and not both."
        )

    def test_two_targets(self, client, rows):
        text = refusal(client, ValueError, rows, rows[["time", "event"]], **COLUMNS)
        assert text.endswith("or y, and not both.")

    def test_an_unknown_column(self, client, rows):
        assert refusal(client, ValueError, rows, time="days", event="event") == (
            "time must be a column of X, got 'days'; there are 'a', 'b', 'time', 'event'."
        )

    def test_unknown_features(self, client, rows):
        assert refusal(client, ValueError, rows, features=["a", "c"], **COLUMNS) == (
            "features must be a list of columns of X, got ['a', 'c']; there are 'a', 'b', 'time', "
            "'event'."
        )

    def test_a_target_among_features(self, client, rows):
        assert refusal(client, ValueError, rows, features=["a", "time"], **COLUMNS) == (
            "features must not hold a column with another role, got ['time']."
        )

    def test_targets_of_another_kind(self, client, rows):
        with pytest.raises(TypeError, match="y must be a DataFrame of dask with the columns"):
            DaskCQRNN().fit(rows[["a"]], rows["time"])

    def test_other_partitions_of_the_target(self, client, frame):
        X, y = dd.from_pandas(frame[["a"]], 3), dd.from_pandas(frame[["time", "event"]], 2)
        with pytest.raises(ValueError, match="X and y must have the same partitions, got 3 and 2"):
            DaskCQRNN().fit(X, y)

    def test_names_of_columns_of_an_array(self, client, rows):
        with pytest.raises(ValueError, match="come with y and without names of columns"):
            DaskCQRNN().fit(da.zeros((4, 2)), **COLUMNS)

    @pytest.mark.parametrize(
        ("setting", "text"),
        [
            ({"network": print}, "network must be None for training on a cluster"),
            ({"em_epochs": 2}, "em_epochs must be None for training on a cluster"),
            ({"n_replicas": 0}, "n_replicas must be at least 1, got 0"),
            ({"learning_rate": -1.0}, "learning_rate must be"),
            ({"quantiles": [0.5, 2.0]}, "quantiles"),
        ],
    )
    def test_settings(self, client, rows, setting, text):
        model = DaskCQRNN(random_state=0, **setting)
        assert refusal(client, ValueError, rows, model=model).startswith(text)

    @pytest.mark.parametrize(
        ("setting", "text"),
        [
            ({"compared_rows": 1}, "compared_rows must be at least 2, got 1."),
            ({"passes": -1.0}, "passes must be finite and inside [0, inf), got -1.0."),
        ],
    )
    def test_settings_of_the_recommended_estimator(self, client, rows, setting, text):
        model = DaskCensoredQuantileRegressor(**setting)
        assert refusal(client, ValueError, rows, model=model) == text


class TestClients:
    def test_none(self, frame):
        with pytest.raises(ValueError, match="client must be given where none exists: create one"):
            DaskCQRNN().fit(partitioned(frame), **COLUMNS)

    def test_something_else(self, frame):
        with pytest.raises(TypeError, match=r"client must be a distributed.Client, got 'tcp://'"):
            DaskCQRNN(client="tcp://").fit(partitioned(frame), **COLUMNS)

    def test_a_closed_one(self, cluster, frame):
        with distributed.Client(cluster) as client:
            pass
        with pytest.raises(ValueError, match="got one that is closed: create a new Client"):
            DaskCQRNN(client=client).fit(partitioned(frame), **COLUMNS)

    def test_one_without_workers(self, frame):
        with (
            local_cluster(0) as nobody,
            distributed.Client(nobody) as client,
            pytest.raises(ValueError, match="client must have at least one worker"),
        ):
            DaskCQRNN(client=client).fit(partitioned(frame), **COLUMNS)
