"""Cells on dask and other backends of joblib."""

import sys
import warnings

import joblib
import pytest

from benchmark_cells import cell
from censquant_bench import (
    run_plan,
)


class TestBackends:
    CELLS = (("excl_censor", (111,)), ("deepquantreg", (111,)))

    def cells(self):
        return [cell(method, seeds=seeds) for method, seeds in self.CELLS]

    def test_dask_gives_the_rows_of_one_process(self):
        expected = [row["uql"] for row in run_plan(self.cells(), n_jobs=1)]
        import distributed

        with (
            warnings.catch_warnings(),
            distributed.LocalCluster(
                n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
            ) as cluster,
        ):
            warnings.simplefilter("ignore")  # dask's own, of its ports and event loops
            rows = run_plan(self.cells(), backend="dask", address=cluster.scheduler_address)
            with distributed.Client(cluster):
                again = run_plan(self.cells(), backend="dask")
        assert [row["uql"] for row in rows] == [row["uql"] for row in again] == expected

    def test_a_backend_that_returns_all_at_once_gets_a_few_tasks_at_a_time(self):
        sizes = []

        class AllAtOnce(joblib._parallel_backends.ThreadingBackend):
            supports_return_generator = False

            def start_call(self):
                sizes.append(self.parallel.n_jobs)

        joblib.register_parallel_backend("all_at_once", AllAtOnce)
        cells = [cell("excl_censor", seeds=(seed,)) for seed in (111, 112, 113)]
        rows = run_plan(cells, n_jobs=2, backend="all_at_once")
        assert [row["seed"] for row in rows] == [111, 112, 113]
        assert len(sizes) == 2

    def test_an_unknown_backend_is_refused(self):
        with pytest.raises(ValueError, match=r"backend must be one that joblib knows.*got 'mpi'"):
            run_plan(self.cells(), backend="mpi")

    def test_an_address_needs_a_cluster(self):
        with pytest.raises(ValueError, match="address belongs to the backends dask and ray"):
            run_plan(self.cells(), backend="loky", address="tcp://127.0.0.1:8786")

    @pytest.mark.parametrize(("backend", "package"), [("dask", "distributed"), ("ray", "ray")])
    def test_a_cluster_without_its_package_says_how_to_get_it(self, backend, package, monkeypatch):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=f"not installed: run pip install {package}"):
            run_plan(self.cells(), backend=backend)
