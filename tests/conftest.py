"""What several tests share, and the cases of the rules that other tests go through again."""

import gc
import os
from collections import Counter

import pytest
from hypothesis import settings

settings.register_profile("suite", deadline=None)  # a busy machine is no counterexample
settings.load_profile("suite")

# Before NumPy is imported: its threads would wait for one another over matrices of three rows.
for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ["SHIFTRESET_AD_CACHE"] = "0"  # compiled code of tests does not stay on the user's disk


collect_ignore = ["typing"]  # what checkers look at, right and wrong: `test_types.py` has them do so


def pytest_addoption(parser):
    parser.addoption("--staged", action="store_true", help="stage grad and its kin wherever a test calls them")
    parser.addoption("--least", action="store_true", help="go the ways for large arrays with small ones, too")
    parser.addoption("--every", type=int, default=1, metavar="N", help="take every N-th case and example of each test")


def pytest_configure(config):
    if config.getoption("--staged"):
        from tests.staging import everywhere

        everywhere.install()


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config, items):
    """Mark items before pytest chooses some by their marks, and take every N-th case of those that it has chosen."""
    mark_slow_cases(items)
    if config.getoption("--least"):
        for item in items:
            if item.get_closest_marker("of_sizes"):
                item.add_marker(pytest.mark.skip(reason="it looks at the usual sizes"))
    if config.getoption("--staged"):
        from tests.staging import everywhere

        for item in items:
            if item.originalname in everywhere.OF_THE_CALL or item.module.__name__ in everywhere.MODULES_OF_THE_CALL:
                item.add_marker(pytest.mark.skip(reason="a staged function differs in it by nature"))
    result = yield
    taken, left_out, every = [], [], config.getoption("--every")
    for item, number in numbered_in_their_tests(items):
        (left_out if number % every else taken).append(item)
    take_fewer_examples(taken, every)
    config.hook.pytest_deselected(items=left_out)
    items[:] = taken
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session):
    """Set the sizes when all tests are imported, so that a test with a size in it keeps the usual one."""
    if not session.config.getoption("--least"):
        return (yield)
    from tests.fuzzing.thresholds import thresholds_at_least

    with thresholds_at_least():
        return (yield)


def mark_slow_cases(items):
    """Mark all cases but every n-th as slow, of tests that are marked as `slow_but_every(n)`."""
    for item, number in numbered_in_their_tests(items):
        mark = item.get_closest_marker("slow_but_every")
        if mark is not None and number % mark.args[0]:
            item.add_marker(pytest.mark.slow)


def numbered_in_their_tests(items):
    """Each item with its number among the cases of its test."""
    seen = Counter()
    for item in items:
        function = item.nodeid.partition("[")[0]
        yield item, seen[function]
        seen[function] += 1


def take_fewer_examples(items, every):
    """Divide the number of examples of each property test. Hypothesis has no public way to do so from outside."""
    tests = {getattr(item, "function", None) for item in items if every > 1}  # a doctest has no function
    for test in filter(lambda test: hasattr(test, "hypothesis"), tests):
        usual = test._hypothesis_internal_use_settings
        test._hypothesis_internal_use_settings = settings(usual, max_examples=max(1, usual.max_examples // every))


def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("--staged"):
        from tests.staging import everywhere

        for line in everywhere.report():
            terminalreporter.line(line)


@pytest.fixture(scope="module")
def only_what_is_new_is_looked_at():
    """Hide from the collector, and from who asks it for objects, all that was there before the tests of a module.

    A collection takes 0.3 s when all tests are loaded.
    """
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
