import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import threadpoolctl
from threadpoolctl import threadpool_info, threadpool_limits

from censquant._engine.training import _parallel
from censquant._engine.training._checkpoint import Checkpoint
from censquant._engine.training._loop import TrainingConfig, train
from censquant._engine.training._parallel import side_by_side, stop_if_asked
from toys import censored_rows, dense, portnoy_objective

PATIENCE = 600  # seconds after which a thread that should have moved counts as stuck


def blas_threads():
    return sorted(
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    )


@pytest.fixture
def two_blas_threads():
    """A state of the libraries that is recognised when it comes back."""
    with threadpool_limits(2, user_api="blas"):
        assert set(blas_threads()) == {2}
        yield


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 5, -1])
def test_results_come_in_the_order_of_the_tasks(n_jobs):
    def task(i):
        def run(stopping):
            time.sleep(0.01 * (4 - i))
            return i

        return run

    assert side_by_side([task(i) for i in range(4)], n_jobs) == [0, 1, 2, 3]


def test_two_tasks_run_at_the_same_time():
    barrier = threading.Barrier(2, timeout=PATIENCE)
    assert sorted(side_by_side([lambda stopping: barrier.wait()] * 2, n_jobs=2)) == [0, 1]


def trained_member(member):
    def task(stopping):
        network = dense(seed=member, dropout=0.2)
        config = TrainingConfig(max_epochs=5, batch_size=16)
        rng = np.random.default_rng(member)
        train(network, portnoy_objective(), censored_rows(), config, rng, stopping=stopping)
        return network.parameters

    return task


def test_trainings_do_not_depend_on_the_number_of_threads():
    tasks = [trained_member(member) for member in range(4)]
    alone, together = side_by_side(tasks, n_jobs=1), side_by_side(tasks, n_jobs=3)
    np.testing.assert_array_equal(alone, together)
    assert len({parameters.tobytes() for parameters in alone}) == 4


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_is_passed_on(n_jobs):
    def fail(stopping):
        raise ZeroDivisionError("member 1")

    with pytest.raises(ZeroDivisionError, match=r"^member 1$"):
        side_by_side([lambda stopping: 0, fail, lambda stopping: 2], n_jobs)


@pytest.mark.parametrize("place", [0, 1])
def test_an_error_stops_the_tasks_beside_it(place):
    was_stopped = []

    def wait(stopping):
        was_stopped.append(stopping.wait(PATIENCE))

    def fail(stopping):
        raise ZeroDivisionError

    tasks = [wait, wait]
    tasks.insert(place, fail)
    with pytest.raises(ZeroDivisionError):
        side_by_side(tasks, n_jobs=3)
    assert was_stopped == [True, True]


def test_ctrl_c_stops_all_tasks_and_returns_their_results(monkeypatch):
    started = threading.Semaphore(0)

    def task(stopping):
        started.release()
        return stopping.wait(PATIENCE)

    def interrupted(futures, timeout, return_when):
        for _ in range(2):
            started.acquire(timeout=PATIENCE)
        raise KeyboardInterrupt

    monkeypatch.setattr(_parallel, "wait", interrupted)
    # The third has no thread before the first two end, and then it finds the event set.
    assert side_by_side([task] * 3, n_jobs=2) == [True, True, True]


def test_ctrl_c_is_raised_where_half_a_result_is_none(monkeypatch):
    started, ended = threading.Semaphore(0), []

    def task(stopping):
        started.release()
        ended.append(stopping.wait(PATIENCE))

    def interrupted(futures, timeout, return_when):
        for _ in range(2):
            started.acquire(timeout=PATIENCE)
        raise KeyboardInterrupt

    monkeypatch.setattr(_parallel, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        side_by_side([task] * 5, n_jobs=2, on_interrupt="raise")
    # Those that ran were waited for; those that had not begun never did.
    assert 2 <= len(ended) < 5
    assert all(ended)


def test_ctrl_c_is_answered_at_once_and_no_task_begins_after_it(capsys):
    begun, step = [], threading.Event()

    def task(stopping):
        begun.append(1)
        if len(begun) == 1:
            signal.raise_signal(signal.SIGINT)
        for _ in range(1000 * PATIENCE):
            stop_if_asked(stopping)  # as a loop of a fit does
            step.wait(0.001)
        raise AssertionError("was not stopped")

    with pytest.raises(KeyboardInterrupt):
        side_by_side([task] * 5, n_jobs=1, on_interrupt="raise")
    assert len(begun) == 1
    assert capsys.readouterr().err == "Stopping ...\n"


def test_an_error_is_raised_and_not_what_was_stopped_because_of_it():
    failed = threading.Event()

    def wait(stopping):
        failed.wait(PATIENCE)
        stopping.wait(PATIENCE)
        stop_if_asked(stopping)

    def fail(stopping):
        failed.set()
        raise ZeroDivisionError("the second")

    with pytest.raises(ZeroDivisionError, match=r"^the second$"):
        side_by_side([wait, fail], n_jobs=2, on_interrupt="raise")


@pytest.mark.parametrize("on_interrupt", ["keep", "raise"])
def test_ctrl_c_never_breaks_into_the_pool(monkeypatch, on_interrupt):
    undisturbed, handler = [], signal.getsignal(signal.SIGINT)

    class Pool(_parallel.ThreadPoolExecutor):
        def submit(self, task, stopping):
            if not undisturbed:
                signal.raise_signal(signal.SIGINT)
            undisturbed.append(True)  # a lock that was taken here would have been released
            return super().submit(task, stopping)

    monkeypatch.setattr(_parallel, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(_parallel, "_PATIENCE", 0.01)
    tasks = [lambda stopping: stopping.wait(PATIENCE)] * 3
    if on_interrupt == "keep":
        assert side_by_side(tasks, n_jobs=3) == [True] * 3
    else:
        with pytest.raises(KeyboardInterrupt):
            side_by_side(tasks, n_jobs=3, on_interrupt="raise")
    assert len(undisturbed) == 3
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_second_ctrl_c_is_raised_at_once(monkeypatch):
    class Pool(_parallel.ThreadPoolExecutor):
        def submit(self, task, stopping):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            pytest.fail("nothing was raised")

    monkeypatch.setattr(_parallel, "ThreadPoolExecutor", Pool)
    with pytest.raises(KeyboardInterrupt):
        side_by_side([lambda stopping: None] * 2, n_jobs=2, on_interrupt="raise")


def test_ctrl_c_at_the_very_end_is_not_lost(monkeypatch):
    class Pool(_parallel.ThreadPoolExecutor):
        def __exit__(self, *error):
            signal.raise_signal(signal.SIGINT)
            return super().__exit__(*error)

    monkeypatch.setattr(_parallel, "ThreadPoolExecutor", Pool)
    with pytest.raises(KeyboardInterrupt):
        side_by_side([lambda stopping: None] * 2, n_jobs=2)


def test_a_users_own_handler_is_called_and_put_back():
    calls = []

    def own(number, frame):
        calls.append(number)

    def task(stopping):
        return stopping.is_set()

    before = signal.signal(signal.SIGINT, own)
    try:
        with _parallel.held_interrupts() as release:
            signal.raise_signal(signal.SIGINT)
            assert calls == []
            release()
            release()
            assert calls == [signal.SIGINT]
        assert signal.getsignal(signal.SIGINT) is own
        assert side_by_side([task] * 2, n_jobs=2) == [False, False]
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with _parallel.held_interrupts() as release:
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            release()
    finally:
        signal.signal(signal.SIGINT, before)


def test_handlers_are_left_alone_outside_the_main_thread():
    found = []

    def run():
        with _parallel.held_interrupts():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(PATIENCE)
    assert found == [signal.getsignal(signal.SIGINT)]


def test_ctrl_c_while_tasks_are_sent_stops_them_all(monkeypatch):
    sent = []

    class Interrupting(_parallel.ThreadPoolExecutor):
        def submit(self, task, stopping):
            sent.append(task)
            if len(sent) == 2:
                raise KeyboardInterrupt
            return super().submit(task, stopping)

    monkeypatch.setattr(_parallel, "ThreadPoolExecutor", Interrupting)
    tasks = [lambda stopping: stopping.wait(PATIENCE)] * 3
    assert side_by_side(tasks, n_jobs=3) == [True, True, True]


def test_no_tasks_have_no_results():
    assert side_by_side([], n_jobs=2) == []


def test_one_training_after_the_other_ends_with_ctrl_c():
    class Interrupting:
        def on_start(self, run):
            pass

        def on_epoch(self, run):
            raise KeyboardInterrupt

        def on_end(self, run):
            pass

    def task(stopping):
        config = TrainingConfig(max_epochs=5, batch_size=16)
        return train(
            dense(),
            portnoy_objective(),
            censored_rows(),
            config,
            np.random.default_rng(0),
            callbacks=[Interrupting()],
            stopping=stopping,
        )

    assert [len(history) for history in side_by_side([task, task, task], n_jobs=1)] == [1, 0, 0]


SCRIPT = """
import sys
import threading
import numpy as np
from censquant._engine.training._loop import TrainingConfig, train
from censquant._engine.training._parallel import side_by_side
from toys import Recorder, censored_rows, dense, portnoy_objective

n_jobs = int(sys.argv[1])
rows = censored_rows(2000)
networks = [dense(seed=seed) for seed in range(n_jobs)]
before = [network.parameters.copy() for network in networks]
config = TrainingConfig(max_epochs=10**6, batch_size=64)
running = threading.Barrier(n_jobs)

def announce(run):
    if run.n_epochs == 2:
        if running.wait() == 0:
            print("running", flush=True)

def task(member):
    return lambda stopping: train(
        networks[member], portnoy_objective(), rows, config, np.random.default_rng(member),
        callbacks=[Recorder(on_epoch=announce)], member=member, stopping=stopping,
    )

histories = side_by_side([task(member) for member in range(n_jobs)], n_jobs)
assert all(2 <= len(history) < 10**6 for history in histories)
for network, start in zip(networks, before):
    assert (network.parameters != start).all()
    assert np.isfinite(network.predict(rows.x)).all()
print("kept a fitted model", flush=True)
"""


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_process_that_gets_ctrl_c_keeps_what_was_learned(n_jobs):
    search_path = f"import sys; sys.path[:0] = {sys.path!r}"
    process = subprocess.Popen(
        [sys.executable, "-c", search_path + SCRIPT, str(n_jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
    assert (output, errors, process.returncode) == (
        "kept a fitted model\n",
        "Stopping ...\n" if n_jobs > 1 else "",  # one training alone ends in a moment
        0,
    )


@pytest.mark.usefixtures("two_blas_threads")
class TestBlasThreads:
    def test_there_is_one_while_tasks_run(self):
        seen = side_by_side([lambda stopping: blas_threads()] * 2, n_jobs=2)
        assert {count for counts in seen for count in counts} == {1}
        assert set(blas_threads()) == {2}

    def test_an_error_puts_them_back(self):
        with pytest.raises(ZeroDivisionError):
            side_by_side([lambda stopping: 1 / 0])
        assert set(blas_threads()) == {2}

    def test_the_outermost_of_nested_calls_puts_them_back(self):
        def task(stopping):
            side_by_side([lambda stopping: None])
            return blas_threads()

        assert set(side_by_side([task])[0]) == {1}
        assert set(blas_threads()) == {2}

    @pytest.mark.parametrize("first_to_end", ["first to begin", "last to begin"])
    def test_the_last_of_several_threads_puts_them_back(self, first_to_end):
        names = ["first to begin", "last to begin"]
        began, ending = ({name: threading.Event() for name in names} for _ in range(2))

        def use(name):
            def task(stopping):
                began[name].set()
                assert ending[name].wait(PATIENCE)

            # Both threads stay alive to the end: a limit may not belong to one of them.
            side_by_side([task])
            assert finished.wait(PATIENCE)

        finished = threading.Event()
        threads = {name: threading.Thread(target=use, args=(name,)) for name in names}
        for name in names:
            threads[name].start()
            assert began[name].wait(PATIENCE)
        assert set(blas_threads()) == {1}
        ending[first_to_end].set()
        self.wait_until(lambda: _parallel._users == 1)
        assert set(blas_threads()) == {1}
        for event in ending.values():
            event.set()
        self.wait_until(lambda: _parallel._users == 0 and set(blas_threads()) == {2})
        finished.set()
        for thread in threads.values():
            thread.join(PATIENCE)

    @staticmethod
    def wait_until(condition):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.001)

    def test_older_versions_of_threadpoolctl_do_as_well(self, monkeypatch):
        newer = "clear_controlling_thread"
        monkeypatch.delattr(threadpoolctl.OpenBLASController, newer, raising=False)
        assert set(side_by_side([lambda stopping: blas_threads()])[0]) == {1}
        assert set(blas_threads()) == {2}


def test_members_write_their_checkpoints_side_by_side(tmp_path):
    def task(member):
        def run(stopping):
            train(
                dense(seed=member),
                portnoy_objective(),
                censored_rows(),
                TrainingConfig(max_epochs=4, batch_size=16),
                np.random.default_rng(member),
                checkpoint=Checkpoint(tmp_path / "run.ckpt", every=1).for_member(member),
                member=member,
                stopping=stopping,
            )

        return run

    side_by_side([task(member) for member in range(4)], n_jobs=4)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["run.ckpt", "run.ckpt.1", "run.ckpt.2", "run.ckpt.3"]
