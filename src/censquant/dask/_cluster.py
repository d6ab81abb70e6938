"""The cluster of a fit: tasks go out, results and errors come back, nothing is left behind."""

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import distributed
from distributed.scheduler import KilledWorker

_FAN_IN = 16
_PATIENCE = 5.0  # seconds between two looks at the workers
_LONGEST_WITHOUT_WORKERS = 120.0  # seconds: what a batch system needs to start another
_LONGEST_IDLE = 120.0  # seconds in which workers have nothing to do, and results are missing


def find_client(client: Any) -> distributed.Client:
    """Return the client that was given or, without one, the one that exists; it must be usable."""
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            raise ValueError(
                "client must be given where none exists: create one by "
                "distributed.Client(...) before fit, or pass it as client=."
            ) from None
    if not isinstance(client, distributed.Client):
        raise TypeError(f"client must be a distributed.Client, got {client!r}.")
    if client.asynchronous:
        raise ValueError("client must not be asynchronous: create it without asynchronous=True.")
    if client.status != "running":
        raise ValueError(
            f"client must be connected to a scheduler, got one that is {client.status}: create "
            "a new Client."
        )
    if not client.nthreads():
        raise ValueError(
            "client must have at least one worker, got a cluster with none: scale it and call "
            "client.wait_for_workers(1)."
        )
    return client


class Session:
    """The tasks of one fit on a cluster.

    Every task is a pure function of what it is given, and all that it is given can be computed
    again: where a worker dies, dask runs what is lost on another. Whatever ends the fit, its tasks
    are cancelled and their results released, and the cluster is as it was.
    """

    def __init__(self, client: distributed.Client) -> None:
        self.client = client
        self._token = uuid.uuid4().hex[:12]
        self._count = 0
        self._futures: dict[str, distributed.Future] = {}

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(Exception):  # a client that was closed has nothing to cancel
            self.client.cancel(list(self._futures.values()), force=True)
        self._futures.clear()

    @property
    def threads(self) -> dict[str, int]:
        """Number of threads of each worker by its address, in a fixed order."""
        return dict(sorted(self.client.nthreads().items()))

    def submit(
        self, function: Callable[..., Any], *args: Any, worker: str | None = None
    ) -> distributed.Future:
        """Send a task; ``worker`` is where its result is wanted, if that worker lives."""
        self._count += 1
        name = function.__name__.strip("_")
        place = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        future = self.client.submit(
            function, *args, key=f"censquant-{name}-{self._token}-{self._count}", **place
        )
        return self._keep(future)

    def compute(self, tasks: Sequence[Any]) -> list[distributed.Future]:
        """Send delayed tasks and return their futures."""
        return [self._keep(future) for future in self.client.compute(list(tasks))]

    def reduce(
        self, function: Callable[[Sequence[Any]], Any], futures: Sequence[distributed.Future]
    ) -> distributed.Future:
        """Combine all results by a function, a few at a time and in their order."""
        level = list(futures)
        while True:
            level = [
                self.submit(function, level[first : first + _FAN_IN])
                for first in range(0, len(level), _FAN_IN)
            ]
            if len(level) == 1:
                return level[0]

    def result(self, future: distributed.Future) -> Any:
        """Wait for one result and return it."""
        return self.results([future])[0]

    def results(self, futures: Sequence[distributed.Future]) -> list[Any]:
        """Wait for results and return them; the first error is raised as it was."""
        with _in_one_sentence():
            self._wait(futures)
            gathered: list[Any] = self.client.gather(list(futures))
            return gathered

    def release(self, futures: Sequence[distributed.Future]) -> None:
        """Let go of results that no later task is given."""
        for future in futures:
            self._futures.pop(future.key, None)
            future.release()

    def _keep(self, future: distributed.Future) -> distributed.Future:
        self._futures[future.key] = future
        return future

    def _wait(self, futures: Sequence[distributed.Future]) -> None:
        """Wait for an end, and neither for workers that never come back nor for ones at rest."""
        alone_since = idle_since = None
        while True:
            try:
                distributed.wait(list(futures), timeout=_PATIENCE)
            except TimeoutError:
                if any(future.status == "error" for future in futures):
                    return
                now = time.monotonic()
                if not self.client.nthreads():
                    idle_since, alone_since = None, alone_since or now
                    if now - alone_since > _LONGEST_WITHOUT_WORKERS:
                        raise ConnectionError(
                            "The cluster must have a worker, but has had none for "
                            f"{_LONGEST_WITHOUT_WORKERS:g} seconds: start workers and call fit "
                            "again; with checkpoint_dir it resumes."
                        ) from None
                    continue
                alone_since = None
                is_busy = any(self.client.processing().values())
                idle_since = None if is_busy else idle_since or now
                if idle_since is not None and now - idle_since > _LONGEST_IDLE:
                    raise ConnectionError(
                        "The workers must compute what is missing, but have computed nothing for "
                        f"{_LONGEST_IDLE:g} seconds: restart the cluster and call fit again; with "
                        "checkpoint_dir it resumes."
                    ) from None
            else:
                return


@contextlib.contextmanager
def _in_one_sentence() -> Iterator[None]:
    """Turn errors of the cluster itself into one sentence with a remedy."""
    try:
        yield
    except KilledWorker:
        raise MemoryError(
            "Workers died again and again at the same task, mostly for want of memory: give them "
            "more, or repartition the data into smaller partitions."
        ) from None
    except distributed.CancelledError:
        raise ConnectionError(
            "The client lost its scheduler during the fit: connect a new Client and call fit "
            "again; with checkpoint_dir it resumes."
        ) from None
    except KeyError as error:
        if "not in index" not in str(error):
            raise
        # Of pandas, where only some columns of a partition are read.
        raise ValueError(
            f"Every partition must have the columns of the first, got one without {error}."
        ) from None
