"""Delimited continuations by themselves: the textbook examples, the forms of handlers, and every way out."""

import contextvars
import functools
import gc
import inspect
import operator
import signal
import sys
import threading
import weakref
from contextlib import suppress
from types import GeneratorType

import numpy as np
import pytest
from greenlet import GreenletExit, getcurrent, greenlet

from shiftreset_ad import Continuation, ContinuationUsedError, ControlError, Prompt, reset, shift
from shiftreset_ad.control import run
from tests.greenlets import suspended_greenlets

pytestmark = pytest.mark.usefixtures("only_what_is_new_is_looked_at")


@pytest.fixture(autouse=True)
def no_greenlet_left():
    before = suspended_greenlets()
    yield
    if not suspended_greenlets() <= before:
        gc.collect()  # the tracebacks that pytest.raises keeps are in cycles
    assert suspended_greenlets() <= before


class Resource:
    """Says in `log` when a program enters and leaves it."""

    def __init__(self, log, name="body"):
        self.log, self.name = log, name

    def __enter__(self):
        self.log.append(f"enter {self.name}")
        return self

    def __exit__(self, kind, error, traceback):
        self.log.append(f"leave {self.name} by {kind and kind.__name__}")


# The textbook examples


def test_the_body_alone_is_an_ordinary_call():
    assert reset(lambda: 42) == 42


def test_a_handler_that_drops_k_aborts():
    assert 1 + reset(lambda: 10 + shift(lambda k: 100)) == 101


def test_a_handler_that_only_calls_k_changes_nothing():
    assert 1 + reset(lambda: 10 + shift(lambda k: k(100))) == 111


def test_work_after_k():
    assert reset(lambda: 2 * shift(lambda k: 1 + k(10))) == 21


def test_k_is_delimited_by_its_reset():
    # 5 + reset(3 + shift(k => k(0) + k'(...))) with each k used once: what is outside of the reset is no part of k
    assert 5 + reset(lambda: 3 * shift(lambda k: 100 + k(1))) == 108


def test_two_shifts_nest_outward_from_the_first():
    def body():
        return shift(lambda k: ["a", *k(1)]) + shift(lambda k: ["b", *k([2])])

    with pytest.raises(TypeError):  # 1 + [2]
        reset(body)

    def numbers():
        first = shift(lambda k: ["a", *k(1)])
        second = shift(lambda k: ["b", *k(2)])
        return [first, second]

    assert reset(numbers) == ["a", "b", 1, 2]


def test_append_returns_its_continuation():
    """Danvy and Filinski 1990: append as a function that stops at the end of its first list."""

    def append(xs):
        return shift(lambda k: k) if not xs else [xs[0], *append(xs[1:])]

    append_to_123 = reset(lambda: append([1, 2, 3]))
    assert isinstance(append_to_123, Continuation)
    assert append_to_123([4, 5]) == [1, 2, 3, 4, 5]
    with pytest.raises(ContinuationUsedError, match="one-shot"):
        append_to_123([6])


def test_early_exit_from_the_product_of_a_list():
    multiplied = []

    def product(numbers):
        if not numbers:
            return 1
        if numbers[0] == 0:
            return shift(lambda k: 0)
        rest = product(numbers[1:])
        multiplied.append(numbers[0])
        return numbers[0] * rest

    assert reset(lambda: product([2, 3, 5])) == 30
    multiplied.clear()
    assert reset(lambda: product([2, 3, 0, 5])) == 0
    assert not multiplied


def test_prefixes_of_a_list():
    """Danvy 1989, the longest prefix without backtracking: each k is the list built so far, and is called once."""

    def visit(xs, satisfied):
        if not xs:
            return shift(lambda k: None)
        if satisfied(xs[0]):
            return [xs[0], *shift(lambda k: k([]))]
        return [xs[0], *visit(xs[1:], satisfied)]

    assert reset(lambda: visit([1, 2, 3, 4], lambda x: x > 2)) == [1, 2, 3]
    assert reset(lambda: visit([1, 2], lambda x: x > 2)) is None


def test_walking_a_tree_by_handing_out_k():
    tree = ((1, (2, 3)), ((4,), 5))

    def walk(node):
        if isinstance(node, tuple):
            for child in node:
                walk(child)
        else:
            shift(lambda k: (node, k))

    def leaves():
        step = reset(lambda: walk(tree))
        while step is not None:
            leaf, k = step
            yield leaf
            step = k()

    assert list(leaves()) == [1, 2, 3, 4, 5]


def test_same_fringe_stops_at_the_first_difference():
    visited = []

    def walk(node):
        if isinstance(node, tuple):
            for child in node:
                walk(child)
        else:
            visited.append(node)
            shift(lambda k: (node, k))

    def same(a, b):
        step_a, step_b = reset(lambda: walk(a)), reset(lambda: walk(b))
        while step_a and step_b:
            if step_a[0] != step_b[0]:
                return False
            step_a, step_b = step_a[1](), step_b[1]()
        return step_a is step_b

    assert same((1, (2, 3)), ((1, 2), 3))
    visited.clear()
    assert not same((1, 2, 3), (1, (7, 3)))
    assert visited == [1, 1, 2, 7]


def test_the_state_monad():
    """Asai and Kiselyov's tutorial, 2.9: the answer of the reset is a function of the state."""

    def get():
        return shift(lambda k: lambda state: k(state)(state))

    def tick():
        return shift(lambda k: lambda state: k(None)(state + 1))

    def run_state(body, state):
        def answer():
            result = body()
            return lambda state: (result, state)

        return reset(answer)(state)

    def body():
        tick()
        tick()
        seen = get()
        tick()
        return seen * get()

    assert run_state(body, 10) == (12 * 13, 13)


def test_printf():
    """Danvy's formatting without a parser: every hole is a shift whose answer waits for the argument."""

    def hole(show):
        return shift(lambda k: lambda argument: k(show(argument)))

    sprintf = reset(lambda: "x = " + hole(str) + ", s = " + hole(repr) + ".")
    assert sprintf(1)("two") == "x = 1, s = 'two'."


def test_a_normal_form():
    """A-normalisation (Asai and Kiselyov's tutorial, 2.8): each shift names a subexpression."""

    def normal(term, fresh):
        if isinstance(term, str):
            return term
        function, argument = (normal(part, fresh) for part in term)
        name = f"t{next(fresh)}"
        return shift(lambda k: f"let {name} = {function} {argument} in {k(name)}")

    assert (
        reset(lambda: normal(("f", ("g", ("h", "x"))), iter(range(9))))
        == "let t0 = h x in let t1 = g t0 in let t2 = f t1 in t2"
    )


def test_yield_and_collect():
    assert reset(lambda: [shift(lambda k, i=i: [i, *k(i * i)]) for i in range(4)]) == [0, 1, 2, 3, 0, 1, 4, 9]


def test_backtracking_by_running_the_program_again():
    """`amb` needs a k for every choice; a one-shot k gives one, and the program is run again for the next."""

    def solutions(body):
        choices = [[]]

        def choose(options):
            given = next(replayed, None)
            if given is None:
                choices.extend([*taken, option] for option in options)
                return shift(lambda k: None)
            taken.append(given)
            return given

        while choices:
            replayed, taken = iter(choices.pop(0)), []
            found = reset(lambda: body(choose))
            if found is not None:
                yield found

    def pythagorean(choose):
        a, b, c = choose(range(1, 14)), choose(range(1, 14)), choose(range(1, 14))
        return (a, b, c) if a < b and a * a + b * b == c * c else None

    assert list(solutions(pythagorean)) == [(3, 4, 5), (5, 12, 13), (6, 8, 10)]


# Several prompts, and resets in one another


def test_each_shift_belongs_to_the_innermost_reset():
    assert reset(lambda: 1 + reset(lambda: 10 * shift(lambda k: 100))) == 101


def test_a_prompt_reaches_over_an_inner_reset():
    outer, inner = Prompt(), Prompt()

    def body():
        return 1 + reset(lambda: 10 * shift(lambda k: 100, outer), inner)

    assert reset(body, outer) == 100


def test_k_brings_the_inner_resets_back():
    outer, inner = Prompt(), Prompt()

    def inner_body():
        x = shift(lambda k: ["outer", *k(2)], outer)
        y = shift(lambda k: ["inner", *k(3)], inner)
        return [x * y]

    assert reset(lambda: ["rest", *reset(inner_body, inner)], outer) == ["outer", "rest", "inner", 6]


def test_a_reset_that_k_took_away_is_not_the_innermost_any_more():
    outer, inner = Prompt(), Prompt()

    def handler(k):
        # The inner reset of `inner` is a part of k, and not around this handler; the outermost is.
        shifted = shift(lambda k2: ["outermost", *k2(1)], inner)
        return [shifted, *k(2)]

    def body():
        return reset(lambda: reset(lambda: [shift(handler, outer)], inner), outer)

    assert reset(body, inner) == ["outermost", 1, 2]
    with pytest.raises(ControlError, match="no reset of this prompt"):
        reset(lambda: reset(lambda: [shift(handler, outer)], inner), outer)


def test_a_prompt_is_used_again_inside_its_own_reset():
    p = Prompt()

    def body():
        inside = reset(lambda: 10 * shift(lambda k: 1 + k(2), p), p)
        return inside + shift(lambda k: 1000 + k(3), p)

    assert reset(body, p) == 1000 + 21 + 3
    assert reset(lambda: shift(lambda k: k(1), p), p) == 1  # and once more after it


def test_one_prompt_in_several_threads():
    p, answers = Prompt(), {}

    def work(i):
        def body():
            return sum(shift(lambda k: 1 + k(i), p) for _ in range(100))

        answers[i] = [reset(body, p) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert answers == {i: [100 * i + 100] * 20 for i in range(4)}


def test_reset_inside_a_handler():
    assert reset(lambda: 2 * shift(lambda k: reset(lambda: 1 + shift(lambda j: j(5))) + k(7))) == 20


def test_k_under_another_reset_inside_the_handler():
    # k called in the reset of the handler answers there, and the shift beside it captures only up to there.
    def handler(k):
        return ["handler", *reset(lambda: [*k(1), shift(lambda j: ["second", *j(2)])])]

    assert reset(lambda: [shift(handler)]) == ["handler", "second", 1, 2]


def test_a_handler_that_shifts_before_k():
    def handler(k):
        return ["h", shift(lambda j: ["j", *j(2)]), *k(1)]

    assert reset(lambda: ["b", shift(handler)]) == ["j", "h", 2, "b", 1]


def test_a_handler_that_shifts_after_k():
    def handler(k):
        answer = k(1)
        return ["h", *answer, shift(lambda j: ["j", *j(2)])]

    assert reset(lambda: ["b", shift(handler)]) == ["j", "h", "b", 1, 2]


def test_a_handler_aborts_only_up_to_the_k_that_led_to_it():
    def body():
        first = shift(lambda k: ["first", *k(1)])
        shift(lambda k: ["aborted"])
        return [first]

    assert reset(body) == ["first", "aborted"]


def test_the_handler_of_an_inner_prompt_shifts_to_the_outer():
    outer = Prompt()

    def inner_handler(k):
        return ["inner", *k(shift(lambda j: ["outer", *j(1)], outer))]

    assert reset(lambda: ["rest", *reset(lambda: [shift(inner_handler)])], outer) == ["outer", "rest", "inner", 1]


# Generator handlers


def test_a_generator_handler():
    def double():
        answer = yield 10
        return ["doubled", answer]

    assert reset(lambda: 1 + shift(double)) == ["doubled", 11]


def test_the_work_of_a_generator_handler_is_in_order():
    log = []

    def logged(i):
        def handler():
            log.append(f"before {i}")
            answer = yield i
            log.append(f"after {i}")
            return answer + 1

        return shift(handler)

    assert reset(lambda: logged(1) + logged(2)) == 5
    assert log == ["before 1", "before 2", "after 2", "after 1"]


def test_a_generator_handler_without_return_answers_none():
    def silent():
        yield 1

    assert reset(lambda: shift(silent)) is None


def test_a_generator_handler_that_never_yields_aborts():
    log = []

    def abort():
        return "aborted"
        yield

    def body():
        with Resource(log):
            return shift(abort)

    assert reset(body) == "aborted"
    assert log == ["enter body", "leave body by GreenletExit"]


def test_a_generator_handler_that_yields_twice():
    log = []

    def twice():
        with Resource(log, "handler"):
            yield 1
            yield 2

    with pytest.raises(ContinuationUsedError, match="yielded twice"):
        reset(lambda: shift(twice))
    assert log == ["enter handler", "leave handler by GeneratorExit"]


def test_a_generator_handler_that_yields_twice_is_closed_even_if_somebody_holds_it():
    def twice():
        held.extend(g for g in gc.get_objects() if type(g) is GeneratorType and g.gi_code is twice.__code__)
        yield 1
        yield 2

    held = []
    with pytest.raises(ContinuationUsedError):
        reset(lambda: shift(twice))
    assert [inspect.getgeneratorstate(g) for g in held] == ["GEN_CLOSED"]


def test_a_generator_handler_that_raises_before_its_yield():
    def failing():
        raise ValueError("before")
        yield

    def body():
        try:
            return shift(failing)
        except ValueError:  # it is still a part of the program
            return "caught in the body"

    assert reset(body) == "caught in the body"


def test_a_generator_handler_that_raises_after_its_yield():
    def failing():
        yield 1
        raise ValueError("after")

    def body():
        try:
            return shift(failing)
        except ValueError:
            return "the body is over by then"

    with pytest.raises(ValueError, match="after"):
        reset(body)


def test_a_generator_handler_catches_the_exception_of_the_body():
    def catching():
        try:
            yield 0
        except ZeroDivisionError:
            return "caught"

    assert reset(lambda: 1 // shift(catching)) == "caught"


def test_a_generator_handler_shifts_before_and_after_its_yield():
    def handler():
        before = shift(lambda k: ["before", *k(1)])
        answer = yield 10 * before
        after = shift(lambda k: ["after", *k(2)])
        return [*answer, after]

    assert reset(lambda: ["outer", *reset(lambda: ["b", shift(handler)])]) == ["outer", "before", "after", "b", 10, 2]


def test_the_end_of_a_generator_handler_is_around_no_body():
    """What an after-part shifts to is its own reset, and not the one around that."""

    def handler():
        answer = yield 1
        return [*answer, shift(lambda k: ["aborted"])]

    assert reset(lambda: ["outer", *reset(lambda: [shift(handler)])]) == ["outer", "aborted"]


def test_generator_and_function_handlers_mix():
    def generator():
        answer = yield 2
        return ["g", *answer]

    def body():
        return [shift(lambda k: ["f", *k(1)]), shift(generator), shift(lambda k: ["h", *k(3)])]

    assert reset(body) == ["f", "g", "h", 1, 2, 3]


# k: never, once, twice, later, elsewhere


def test_k_called_twice_in_the_handler():
    log = []

    def handler(k):
        first = k(1)
        with pytest.raises(ContinuationUsedError, match="one-shot"):
            k(2)
        return ["after", first]

    def body():
        log.append(shift(handler))
        return "answer"

    assert reset(body) == ["after", "answer"]
    assert log == [1]


def test_an_uncaught_second_call_of_k_reaches_the_caller():
    with pytest.raises(ContinuationUsedError):
        reset(lambda: shift(lambda k: k(1) + k(2)))


def test_k_without_a_value_resumes_with_none():
    assert reset(lambda: [shift(lambda k: k())]) == [None]


def test_k_called_after_its_reset_has_ended():
    def body():
        x = shift(lambda k: k)
        y = shift(lambda k: ["and", *k(10)])  # under the reset that k brings with it
        return [x, y]

    k = reset(body)
    assert k(1) == ["and", 1, 10]


def test_k_called_inside_another_reset():
    k = reset(lambda: 2 * shift(lambda k: k))
    assert reset(lambda: k(4) + shift(lambda j: 100 + j(1))) == 109


def test_k_handed_out_with_other_handlers_waiting():
    kept = []

    def body():
        a = shift(lambda k: ["first", *k(1)])
        b = shift(lambda k: kept.append(k) or ["kept"])
        return [a, b]

    assert reset(body) == ["first", "kept"]
    assert kept.pop()(2) == [1, 2]  # the first handler has had its answer: it is outside of the second k


def test_k_called_in_a_user_greenlet():
    k = reset(lambda: 2 * shift(lambda k: k))
    assert greenlet(k).switch(21) == 42


def test_k_called_by_a_handler_through_a_user_greenlet():
    assert reset(lambda: 2 * shift(lambda k: 1 + greenlet(k).switch(10))) == 21


def test_k_called_in_another_thread():
    log, errors = [], []

    def body():
        with Resource(log):
            return 2 * shift(lambda k: k)

    k = reset(body)

    def work():
        try:
            k(1)
        except ControlError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert "another thread" in str(errors.pop())
    assert k(21) == 42  # it has not been used up
    assert log == ["enter body", "leave body by None"]


def test_k_called_by_a_handler_of_the_same_prompt_in_another_thread():
    p, answers = Prompt(), []
    k = reset(lambda: 2 * shift(lambda k: k, p), p)

    def handler(j):
        try:
            return k(1)
        except ControlError as error:
            return str(error)

    thread = threading.Thread(target=lambda: answers.append(reset(lambda: shift(handler, p), p)))
    thread.start()
    thread.join(10)
    assert "another thread" in answers.pop()
    assert k(21) == 42


def test_k_called_in_a_greenlet_that_its_program_has_started():
    outside = getcurrent()

    def call(k):
        try:
            message = k(1)
        except ControlError as error:
            message = str(error)
        outside.switch(message)

    def body():
        inside = greenlet(call)
        return shift(lambda k: (inside, k))

    inside, k = reset(body)
    assert "its own program" in inside.switch(k)
    assert k("still good") == "still good"


def test_k_dropped_unwinds_the_body():
    log = []

    def body():
        with Resource(log):
            shift(lambda k: k)

    before = suspended_greenlets()
    k = reset(body)
    assert log == ["enter body"]
    assert len(suspended_greenlets() - before) == 1
    del k
    assert log == ["enter body", "leave body by GreenletExit"]
    assert suspended_greenlets() <= before  # without the collector


def test_k_dropped_in_another_thread_is_unwound_in_its_own():
    where = []

    def body():
        try:
            shift(lambda k: k)
        finally:
            where.append(threading.get_ident())

    ks = [reset(body)]
    thread = threading.Thread(target=ks.clear)
    thread.start()
    thread.join(10)
    reset(lambda: None)  # greenlet looks after it at the next switch
    assert where == [threading.get_ident()]


def test_k_dropped_in_a_cycle_is_unwound_by_the_collector():
    log = []

    def body():
        with Resource(log):
            shift(lambda k: k)

    cycle = [reset(body)]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert log == ["enter body", "leave body by GreenletExit"]


def test_the_rest_of_a_dropped_program_cannot_shift_again():
    seen = []

    def body():
        try:
            shift(lambda k: "dropped")
        finally:
            try:
                shift(lambda k: k(1))
            except ControlError as error:
                seen.append(str(error))

    assert reset(body) == "dropped"
    assert "being unwound" in seen.pop()


def test_a_dropped_program_may_reset_while_it_is_unwound():
    seen = []

    def body():
        try:
            shift(lambda k: "dropped")
        finally:
            seen.append(reset(lambda: 1 + shift(lambda k: k(1))))

    assert reset(body) == "dropped"
    assert seen == [2]


def test_a_dropped_program_is_unwound_through_its_own_greenlets_and_resets():
    log, outer = [], Prompt()

    def inside():
        with Resource(log, "greenlet"):
            shift(lambda k: "dropped", outer)

    def in_reset():
        with Resource(log, "reset"):
            mine = greenlet(inside)
            mine.switch()
            log.append("must not go on")

    def body():
        with Resource(log):
            reset(in_reset)
            log.append("must not go on either")

    assert reset(body, outer) == "dropped"
    assert sorted(log[:3]) == ["enter body", "enter greenlet", "enter reset"]
    assert sorted(log[3:]) == [f"leave {name} by GreenletExit" for name in ("body", "greenlet", "reset")]


# Any number of handlers


def test_ten_thousand_waiting_functions():
    limit = sys.getrecursionlimit()

    def body():
        total = 0
        for _ in range(10_000):
            total += shift(lambda k: 1 + k(2))
        return total

    assert reset(body) == 30_000
    assert sys.getrecursionlimit() == limit


def test_twenty_thousand_waiting_generators():
    def handler():
        return 1 + (yield 2)

    assert reset(lambda: sum(shift(handler) for _ in range(20_000))) == 60_000


def test_an_exception_through_ten_thousand_handlers():
    unwound = []

    def function(k):
        try:
            return k(None)
        finally:
            unwound.append("f")

    def generator():
        try:
            yield
        finally:
            unwound.append("g")

    def body():
        for _ in range(5_000):
            shift(function)
            shift(generator)
        raise ValueError("from the depth")

    with pytest.raises(ValueError, match="from the depth"):
        reset(body)
    assert "".join(unwound) == "gf" * 5_000


def test_a_long_chain_of_handed_out_continuations():
    def body():
        return sum(shift(lambda k, i=i: (i, k)) for i in range(10_000))

    step, total = reset(body), 0
    while isinstance(step, tuple):
        i, k = step
        total += i
        step = k(i)
    assert step == total == sum(range(10_000))


def test_resets_nest_deeply():
    def nested(depth):
        return shift(lambda k: k(1)) if depth == 0 else 1 + reset(lambda: nested(depth - 1))

    assert reset(lambda: nested(100)) == 101


# Exceptions


ALL_KINDS = [
    ValueError,
    StopIteration,
    StopAsyncIteration,
    GeneratorExit,
    KeyboardInterrupt,
    SystemExit,
    GreenletExit,
    RuntimeError,
]


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("form", ["none", "function", "generator", "both"])
def test_an_exception_of_the_body_passes_every_handler_unchanged(kind, form):
    error, seen = kind("this one"), []

    def function(k):
        try:
            return k(None)
        except BaseException as passing:
            seen.append(passing)
            raise

    def generator():
        try:
            yield
        except BaseException as passing:
            seen.append(passing)
            raise

    handlers = {"none": [], "function": [function], "generator": [generator], "both": [function, generator] * 2}[form]

    def body():
        for handler in handlers:
            shift(handler)
        raise error

    with pytest.raises(kind) as caught:
        reset(body)
    assert caught.value is error
    assert len(seen) == len(handlers)
    assert all(passing is error for passing in seen)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_an_exception_passes_a_generator_that_does_not_look(kind):
    error = kind("this one")

    def generator():
        yield

    def body():
        shift(generator)
        shift(generator)
        raise error

    with pytest.raises(kind) as caught:
        reset(body)
    assert caught.value is error


def test_a_handler_may_catch_and_answer():
    def body():
        shift(lambda k: ["outermost", *k(1)])

        def catching(k):
            try:
                return k(2)
            except ValueError as error:
                return ["caught", str(error)]

        shift(catching)
        shift(lambda k: ["not reached", *k(3)])
        raise ValueError("oops")

    assert reset(body) == ["outermost", "caught", "oops"]


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_exception_of_a_handler_reaches_the_caller(kind, when):
    log, error = [], kind("from the handler")

    def handler(k):
        if when == "after":
            k(1)
        raise error

    def body():
        with Resource(log):
            try:
                return shift(handler)
            except kind:  # GreenletExit is how a body is unwound
                assert kind is GreenletExit
                raise

    before = suspended_greenlets()
    with suppress(kind):
        reset(body)
        pytest.fail("nothing was raised")
    assert log == ["enter body", "leave body by " + ("GreenletExit" if when == "before" else "None")]
    assert suspended_greenlets() <= before


def test_an_exception_of_a_handler_goes_to_the_handlers_that_wait_for_it():
    def outer(k):
        try:
            return k(1)
        except ValueError:
            return "caught by the outer handler"

    def inner(k):
        raise ValueError("inner")

    def body():
        shift(outer)
        return shift(inner)

    assert reset(body) == "caught by the outer handler"


def test_a_handler_that_raises_ends_its_continuation_even_if_it_was_kept():
    kept = []

    def handler(k):
        kept.append(k)
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        reset(lambda: shift(handler))
    with pytest.raises(ContinuationUsedError, match="its handler raised"):
        kept[0](1)


def test_an_exception_of_a_finally_block_replaces_that_of_the_handler():
    def handler(k):
        raise ValueError("handler")

    def body():
        try:
            shift(handler)
        finally:
            raise KeyError("cleaning up")

    with pytest.raises(KeyError) as caught:
        reset(body)
    assert isinstance(caught.value.__context__, ValueError)


def test_an_exception_of_a_dropped_program_is_reported_as_unraisable(monkeypatch):
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: reported.append(unraisable.exc_type))

    def body():
        try:
            shift(lambda k: "answer")
        finally:
            raise KeyError("cleaning up")

    assert reset(body) == "answer"
    assert reported == [KeyError]


def test_an_exception_leaves_nothing_to_the_collector():
    class Thing:
        pass

    def body():
        thing = Thing()
        things.append(weakref.ref(thing))
        shift(lambda k: k(thing))
        shift(lambda k: thing and k(thing))
        raise ValueError

    things = []
    gc.disable()
    try:
        for _ in range(3):
            with suppress(ValueError):
                reset(body)
        assert [thing() for thing in things] == [None] * 3
    finally:
        gc.enable()


def test_an_answer_leaves_nothing_to_the_collector():
    class Thing:
        pass

    things = []

    def generator():
        thing = Thing()
        things.append(weakref.ref(thing))
        yield thing

    def body():
        for handler in (lambda k: k(Thing()), generator, lambda k: "aborted"):
            thing = shift(handler)
            things.append(weakref.ref(thing))

    before = suspended_greenlets()
    gc.disable()
    try:
        reset(body)
        assert suspended_greenlets() <= before
        assert [thing() for thing in things] == [None] * 3
    finally:
        gc.enable()


def test_a_traceback_shows_the_handlers_and_the_body():
    def handler(k):
        return k(0)

    def body():
        return 1 // shift(handler)

    with pytest.raises(ZeroDivisionError) as caught:
        reset(body)
    names = [entry.name for entry in caught.traceback]
    assert names.index("handler") < names.index("body")
    assert "_guarded" not in names


# Errors


def test_shift_outside_of_reset():
    with pytest.raises(ControlError, match="call shift inside reset"):
        shift(lambda k: k(1))
    with pytest.raises(ControlError, match=r"inside reset\(body, prompt\)"):
        shift(lambda k: k(1), Prompt())
    reset(lambda: None)
    with pytest.raises(ControlError):
        shift(lambda k: k(1))


def test_shift_to_a_prompt_that_has_no_reset_here():
    p = Prompt()
    with pytest.raises(ControlError, match="no reset of this prompt"):
        reset(lambda: shift(lambda k: k(1), p))


def test_shift_in_another_thread_than_its_reset():
    p, errors = Prompt(), []

    def work():
        for handler, prompt in ((lambda k: k(1), p), (lambda k: k(1), None)):
            try:
                shift(handler, prompt)
            except ControlError as error:
                errors.append(error)

    def body():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(10)
        return shift(lambda k: 1 + k(1), p)

    assert reset(body, p) == 2
    assert len(errors) == 2


# Context variables and NumPy's error state


VARIABLE = contextvars.ContextVar("VARIABLE", default="default")


def test_context_variables_are_shared_in_both_directions():
    def handler(k):
        assert VARIABLE.get() == "set inside"
        VARIABLE.set("set by the handler")
        answer = k(1)
        assert VARIABLE.get() == "set after the shift"
        return answer

    def generator():
        VARIABLE.set("set by the generator")
        yield
        assert VARIABLE.get() == "set by the generator"
        VARIABLE.set("set after the yield")

    def body():
        assert VARIABLE.get() == "set outside"
        VARIABLE.set("set inside")
        shift(handler)
        assert VARIABLE.get() == "set by the handler"
        VARIABLE.set("set after the shift")

    def program():
        VARIABLE.set("set outside")
        reset(body)
        assert VARIABLE.get() == "set after the shift"
        reset(lambda: shift(generator))
        assert VARIABLE.get() == "set after the yield"

    contextvars.copy_context().run(program)
    assert VARIABLE.get() == "default"


def test_a_context_variable_is_shared_in_a_thread_without_a_context():
    seen = []

    def work():
        assert getcurrent().gr_context is None
        reset(lambda: VARIABLE.set("inside"))
        seen.append(VARIABLE.get())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert seen == ["inside"]


def test_a_shift_inside_context_run():
    def body():
        return contextvars.copy_context().run(
            lambda: (VARIABLE.set("in the copy"), shift(lambda k: k(VARIABLE.get())))
        )[1]

    assert reset(body) == "default"
    assert VARIABLE.get() == "default"


def test_errstate_is_shared_in_both_directions():
    def body():
        with pytest.raises(FloatingPointError):
            np.float64(1.0) / np.float64(0.0)
        shift(lambda k: k(np.geterr()["divide"]))
        with np.errstate(divide="ignore"):
            assert shift(lambda k: k(np.float64(1.0) / np.float64(0.0))) == np.inf
        np.seterr(divide="warn")

    before = np.geterr()
    with np.errstate(divide="raise"):
        reset(body)
        assert np.geterr()["divide"] == "warn"
    assert np.geterr() == before


# User greenlets, signals and finalizers


def test_user_greenlets_inside_the_body():
    def counting(n):
        for i in range(n):
            shift(lambda k, i=i: [i, *k(None)])
            getcurrent().parent.switch(i)
        return "done"

    def body():
        a, b = greenlet(counting), greenlet(counting)
        return [a.switch(2), b.switch(2), a.switch(), b.switch(), a.switch(), b.switch()]

    assert reset(body) == [0, 0, 1, 1, 0, 0, 1, 1, "done", "done"]


def test_a_switch_to_the_driver_is_a_switch_to_its_program():
    main = getcurrent()

    def body():
        assert getcurrent() is not main
        assert main.switch("as if main switched to itself") == "as if main switched to itself"
        assert getcurrent().parent.switch() == ()
        assert main.switch(None, 2) == (None, 2)
        assert shift(lambda k: k(7)) == 7
        assert main.switch(1) == 1
        return "answer"

    assert reset(body) == "answer"


def test_a_greenlet_from_outside_ends_or_raises_inside_the_body():
    """Its parent is the greenlet that called reset, and what comes there is for the program."""

    def fail():
        raise ValueError("in the greenlet from outside")

    def body():
        assert returning.switch() == "returned"
        with pytest.raises(ValueError, match="from outside"):
            raising.switch()
        return shift(lambda k: 1 + k(1))

    returning, raising = greenlet(lambda: "returned"), greenlet(fail)
    assert reset(body) == 2


def test_a_stray_switch_of_two_values_is_an_error():
    main = getcurrent()

    def body():
        main.switch(1, 2)

    with pytest.raises(ControlError, match="two values"):
        reset(body)
    assert reset(lambda: shift(lambda k: k(1))) == 1


def test_greenlet_exit_for_the_driver_ends_the_program():
    log = []

    def body():
        with Resource(log):
            outside.switch()

    def program():
        return reset(body)

    outside = getcurrent()
    suspended = greenlet(program)
    suspended.switch()
    before = len(suspended_greenlets())
    assert isinstance(suspended.throw(GreenletExit), GreenletExit)
    assert log == ["enter body", "leave body by GreenletExit"]
    assert len(suspended_greenlets()) < before


def test_greenlet_exit_ends_the_program_and_not_only_the_greenlet_that_shifted_last():
    log, outside = [], getcurrent()

    def mine():
        shift(lambda k: k(None))
        with Resource(log, "greenlet"):
            outside.switch()

    def body():
        with Resource(log):
            greenlet(mine).switch()
            log.append("must not go on")

    suspended = greenlet(lambda: reset(body))
    suspended.switch()
    suspended.throw(GreenletExit)
    assert suspended.dead
    assert "must not go on" not in log
    assert "leave body by GreenletExit" in log


def test_a_reset_in_a_finalizer_that_runs_in_a_driver():
    """The finalizer runs when the driver drops the operation: while the driver waits for nobody."""
    answers, p = [], Prompt()

    class Finalized:
        def __del__(self):
            answers.append(reset(lambda: 1 + shift(lambda k: k(1))))

    def body():
        for i in range(3):
            p.capture(getcurrent(), (Finalized(), i))
        return "answer"

    kept = []
    assert run(p, body, lambda operation: kept.append(operation[1])) == "answer"
    assert answers == [2, 2, 2]
    assert kept == [0, 1, 2]


def test_an_operation_of_the_interrupted_program_is_not_kept_by_the_wrong_one():
    outer, inner, refused, kept = Prompt(), Prompt(), [], []

    def interrupting():
        refused.append(outer.capture(getcurrent(), ("for outer",)))
        refused.append(inner.capture(getcurrent(), ("for inner",)))

    def keep(operation):  # stands for a signal handler, which runs in the driver
        if not refused:
            run(inner, interrupting, kept.append)

    run(outer, lambda: outer.capture(getcurrent(), ("first",)), keep)
    assert [bool(answer) for answer in refused] == [True, False]
    assert kept == [("for inner",)]


@pytest.mark.parametrize("handler_form", ["function", "generator"])
def test_real_interrupts_at_random_times(handler_form, monkeypatch):
    # Python itself loses an interrupt that comes in a __del__, with a note; the timer then goes off again.
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)

    def generator():
        return (yield 1)

    handler = generator if handler_form == "generator" else lambda k: k(1)

    def body():
        while True:
            for _ in range(50):
                reset(lambda: shift(handler) + shift(handler))
            shift(handler)

    armed = False

    def interrupt(signum, frame):
        if armed:
            raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        for i in range(60):
            before = suspended_greenlets()
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, 0.001 + 0.000_037 * i, 0.05)
                reset(body)
            except KeyboardInterrupt as error:
                armed = False
                error.__traceback__ = None
            gc.collect()
            assert suspended_greenlets() <= before
            assert reset(lambda: 1 + shift(lambda k: 10 * k(1))) == 20
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def test_reset_as_a_callback_of_c_code():
    def double(x):
        return x * shift(lambda k: k(2))

    doubled = reset(lambda: list(map(double, [1, 2, 3])))
    assert doubled == [2, 4, 6]
    assert functools.reduce(operator.add, [reset(lambda i=i: shift(lambda k: k(i))) for i in range(5)]) == 10
    assert reset(lambda: sorted([3, 1, 2], key=lambda x: shift(lambda k: k(-x)))) == [3, 2, 1]
