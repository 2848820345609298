"""One suite for all engines: the same bits, a killed worker, an error, a time limit, and shards that cannot be sent."""

import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from shutil import which

import numpy as np
import pytest

from shiftreset_ad.executors import Sum, SumOfSquares
from tests.executors import programs
from tests.executors.programs import PARAMS, SHARDS, TANGENTS, Rows, Unpicklable, loss, residuals

ROOT = str(Path(__file__).parents[2])
pytestmark = pytest.mark.filterwarnings("ignore")  # other libraries' own


def threads():
    return ThreadPoolExecutor(2)


def processes():
    return ProcessPoolExecutor(2, get_context("spawn"))


@pytest.fixture(scope="module")
def engine(request):
    """What a sum is given: it begins workers in which this folder can be imported."""
    kind, before = request.param, os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [ROOT, before]))
    if kind == "threads":
        yield threads
    elif kind == "processes":
        yield processes
    elif kind == "loky":
        loky = pytest.importorskip("loky", reason="loky is not installed")
        yield lambda: loky.get_reusable_executor(2)
        loky.get_reusable_executor().shutdown(kill_workers=True)
    elif kind == "dask":
        distributed = pytest.importorskip("distributed", reason="Dask is not installed")
        with (
            distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
    else:
        ray = pytest.importorskip("ray", reason="Ray is not installed")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
        yield ray
        ray.shutdown()
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


def engines(*kinds):
    return pytest.mark.parametrize("engine", kinds, indirect=True, scope="module")


each = engines("threads", "processes", "loky", "dask", "ray")
each_of_processes = engines("processes", "loky", "dask", "ray")


def rows(folder=None):
    return [Rows(number, data, folder) for number, data in enumerate(SHARDS)]


@pytest.fixture(scope="module")
def expected():
    """By one thread."""
    with ThreadPoolExecutor(1) as executor:
        total, squares = Sum(loss, SHARDS, executor), SumOfSquares(residuals, SHARDS, executor)
        return (
            *total.value_and_grad(PARAMS),
            total.hvp(PARAMS, TANGENTS),
            squares.gauss_newton(PARAMS, TANGENTS),
        )


@pytest.mark.slow_but_every(5)
@each
def test_the_bits_are_the_same(engine, expected):
    with Sum(loss, SHARDS, engine) as total, SumOfSquares(residuals, SHARDS, engine) as squares:
        value, gradient = total.value_and_grad(PARAMS)
        assert value == expected[0]
        products = total.hvp(PARAMS, TANGENTS), squares.gauss_newton(PARAMS, TANGENTS)
    for found, of_thread in zip((gradient, *products), expected[1:], strict=True):
        assert found["b"] == of_thread["b"]
        np.testing.assert_array_equal(found["w"], of_thread["w"])


@each
def test_an_error_comes_back_with_its_shard_and_line(engine):
    with Sum(programs.fails_at_five, rows(), engine) as total:
        with pytest.raises(KeyError, match="the label of row 17") as caught:
            total.value_and_grad(PARAMS)
        [note] = [note for note in caught.value.__notes__ if "shard" in note]
        assert note.startswith("in shard 5 of 8, at File ")
        assert "programs.py" in note
        assert Sum(loss, SHARDS, engine)(PARAMS) > 0.0  # the engine goes on


@pytest.mark.slow_but_every(4)
@each_of_processes
def test_a_worker_that_is_killed_loses_nothing(engine, expected, tmp_path):
    with Sum(programs.dies_once, rows(tmp_path), engine) as total:
        value, gradient = total.value_and_grad(PARAMS)
        assert (tmp_path / "died").exists()
        assert value == expected[0]
        np.testing.assert_array_equal(gradient["w"], expected[1]["w"])
        assert total(PARAMS) == value


@pytest.mark.slow
@engines("processes", "loky")
@pytest.mark.parametrize("retries", [0, 1])
def test_a_worker_that_always_dies_is_an_error(engine, retries):
    made = []

    def make():
        made.append(engine())
        return made[-1]

    with Sum(programs.always_dies, rows(), make, retries=retries) as total:
        with pytest.raises(RuntimeError) as caught:
            total(PARAMS)
        assert len(made) == retries + 1
        assert f"workers died in {retries + 1} tries; 8 shards are left" in caught.value.__notes__[-1]


class Recorder(ThreadPoolExecutor):
    """Threads that remember how they were shut down."""

    ended = ()

    def shutdown(self, wait=True, *, cancel_futures=False):
        self.ended = (*self.ended, (wait, cancel_futures))
        super().shutdown(wait, cancel_futures=cancel_futures)


def interrupted(params, shard):
    raise KeyboardInterrupt


def test_an_interruption_ends_what_the_sum_has_begun(expected):
    made = []

    def make():
        made.append(Recorder(2))
        return made[-1]

    with Sum(interrupted, SHARDS, make) as total:
        with pytest.raises(KeyboardInterrupt):
            total(PARAMS)
        assert made[0].ended == ((False, True),)
        with pytest.raises(KeyboardInterrupt):  # a new executor is made
            total(PARAMS)
        assert len(made) == 2
    with Recorder(2) as executor:
        with pytest.raises(KeyboardInterrupt) as caught:
            Sum(interrupted, SHARDS, executor)(PARAMS)
        assert executor.ended == ()
        assert "tasks that had begun go on until their end" in caught.value.__notes__[-1]
        assert Sum(loss, SHARDS, executor)(PARAMS) == expected[0]


def test_an_error_of_the_function_leaves_the_executor_alone():
    made = []

    def make():
        made.append(Recorder(2))
        return made[-1]

    with Sum(programs.fails_at_five, rows(), make) as total:
        for _ in range(2):
            with pytest.raises(KeyError):
                total(PARAMS)
        assert [executor.ended for executor in made] == [()]


@pytest.mark.slow
def test_an_executor_of_the_users_is_not_made_again(tmp_path):
    with processes() as executor:
        with pytest.raises(RuntimeError) as caught:
            Sum(programs.dies_once, rows(tmp_path), executor)(PARAMS)
        assert "give a function that makes an executor" in caught.value.__notes__[-1]


def is_running(process):
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.slow
@engines("processes", "loky")
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc to look for processes")
def test_no_process_is_left_behind_after_the_time_limit(engine, tmp_path):
    with Sum(programs.sleeps, rows(tmp_path), engine, timeout=6.0) as total:
        with pytest.raises(TimeoutError, match=r"the sum took more than timeout=6\.0 seconds"):
            total(PARAMS)
        begun = [int(mark.name) for mark in tmp_path.iterdir()]
        assert begun
        for _ in range(100):
            if not any(map(is_running, begun)):
                break
            time.sleep(0.05)
        assert not any(map(is_running, begun))
    with Sum(loss, SHARDS, engine) as total:
        assert total(PARAMS) > 0.0


@engines("dask", "ray")
def test_a_time_limit_of_a_cluster(engine, tmp_path):
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        Sum(programs.dozes, rows(tmp_path), engine, timeout=0.5)(PARAMS)
    assert time.monotonic() - start < 30.0
    assert Sum(loss, SHARDS, engine)(PARAMS) > 0.0


@each
def test_a_time_out_of_the_function_is_an_error_of_its_own(engine):
    with Sum(programs.times_out, rows(), engine) as total:
        with pytest.raises(TimeoutError, match="the database does not answer") as caught:
            total(PARAMS)
        assert "in shard " in caught.value.__notes__[0]


@engines("processes", "loky")
def test_a_shard_that_cannot_be_sent_is_named(engine):
    shards = [*rows(), Unpicklable(8, SHARDS[0])]
    with Sum(programs.fails_at_five, shards[6:], engine) as total:
        with pytest.raises(Exception, match=r"(?i)pickle") as caught:
            total(PARAMS)
        assert any("executors: shard 2 of 3, the function or the parameters" in note for note in caught.value.__notes__)


@engines("dask", "ray")
def test_a_shard_that_cannot_be_sent_to_a_cluster(engine):
    with pytest.raises(Exception, match=r"(?i)pickle|serialize"):
        Sum(programs.fails_at_five, [*rows()[:2], Unpicklable(8, SHARDS[0])], engine)(PARAMS)


@engines("dask")
def test_futures_of_dask_are_shards(engine, expected):
    value, gradient = Sum(loss, engine.scatter(SHARDS), engine).value_and_grad(PARAMS)
    assert value == expected[0]
    np.testing.assert_array_equal(gradient["w"], expected[1]["w"])
    with engine.get_executor() as executor:
        assert Sum(loss, SHARDS, executor)(PARAMS) == expected[0]


@engines("ray")
def test_references_of_ray_are_shards(engine, expected):
    assert Sum(loss, list(map(engine.put, SHARDS)), engine)(PARAMS) == expected[0]


def by_mpi(ranks, *arguments):
    """What `by_mpi.py` has done on so many ranks."""
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    if which("mpiexec") is None:
        pytest.skip("there is no mpiexec")
    program = ["-m", "mpi4py.futures", str(Path(__file__).with_name("by_mpi.py")), *arguments]
    return subprocess.run(
        ["mpiexec", "--oversubscribe", "--allow-run-as-root", "-n", str(ranks), sys.executable, *program],
        capture_output=True, text=True, timeout=120, check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([ROOT, f"{ROOT}/src"])},
    )  # fmt: skip


@pytest.mark.parametrize("ranks", [2, 4])
def test_mpi(ranks, expected):
    done = by_mpi(ranks)
    assert done.returncode == 0, done.stderr
    numbers, of_error, of_shard, of_limit, goes_on = done.stdout.splitlines()
    assert list(map(float, numbers.split())) == [expected[0], *expected[1]["w"]]
    assert of_error.startswith("in shard 5 of 8")
    assert "shard 2 of 3, the function or the parameters cannot be sent" in of_shard
    assert of_limit == "executors: the sum took more than timeout=0.5 seconds"
    assert goes_on == "True"


def test_a_rank_of_mpi_that_is_killed_ends_the_job(tmp_path):
    """MPI has no other ranks to go on with, so the job ends with an error; a checkpoint is what is left."""
    done = by_mpi(3, str(tmp_path))
    assert (tmp_path / "died").exists()
    assert done.returncode != 0
    assert done.stdout == ""
