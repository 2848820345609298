"""A rewritten function on plain values: Python's exact meaning, its variables, its lines, its errors."""

import traceback

import pytest

from shiftreset_ad.staging.front.functions import refusal_of, rewritten
from tests.staging.front.random_programs import function_from

OUTSIDE = 2


def outcome(f, *args):
    try:
        return f(*args)
    except Exception as error:
        lines = [(line.filename, line.lineno, line.name) for line in traceback.extract_tb(error.__traceback__)[1:]]
        return type(error), str(error), lines


def same(f, *args):
    """What a function gives, which its rewritten form gives, too."""
    assert refusal_of(f) is None
    expected = outcome(f, *args)
    assert outcome(rewritten(f), *args) == expected
    return expected


def test_the_variables_are_those_of_the_function_itself():
    count = 0

    def counted(step=1, *, most=3):
        nonlocal count
        while count < most:
            count += step
        return count, OUTSIDE

    g = rewritten(counted)
    assert g is not counted
    assert g.__closure__ == counted.__closure__
    assert g.__globals__ is counted.__globals__
    assert (g.__defaults__, g.__kwdefaults__) == (counted.__defaults__, counted.__kwdefaults__)
    assert (g.__name__, g.__qualname__, g.__module__) == (counted.__name__, counted.__qualname__, counted.__module__)
    assert g() == (3, 2)
    assert count == 3
    counted.__defaults__ = (5,)
    assert rewritten(counted)(most=9) == (13, 2)


def test_an_inner_function_sees_what_comes_later():
    def f(n):
        found = []
        for i in range(n):
            found.append(lambda: i)  # noqa: B023 (it sees the last value)
            if i == 3:
                break
        else:
            i = 100
        return [g() for g in found]

    assert [same(f, n) for n in (0, 2, 5)] == [[], [100, 100], [3, 3, 3, 3]]


def test_a_function_calls_itself_and_others():
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    class Tree:
        def __init__(self, *parts):
            self.parts = parts

        def __depth(self):
            return 1 + max((part.depth() for part in self.parts), default=0) if self.parts else 0

        def depth(self):
            return self.__depth() if not self.parts or len(self.parts) < 3 < 10 else -1

    assert same(fib, 10) == 55
    assert same(Tree(Tree(Tree()), Tree()).depth) == 2
    assert same(Tree(Tree(), Tree(), Tree()).depth) == -1


def test_a_class_with_super_and_a_name_of_its_own():
    class Base:
        def go(self, x):
            return x + 1

    class Derived(Base):
        step = 2

        def go(self, x):
            while x < 10:
                x = super().go(x) + (Derived.step if x > 3 else self.step)
            return x, __class__.__name__

    assert same(Derived().go, 0) == (12, "Derived")


def test_generators_are_left_alone():
    def f(n):
        for i in range(n):
            if i % 2:
                yield i

    assert rewritten(f).__code__.co_code == f.__code__.co_code
    assert list(rewritten(f)(6)) == [1, 3, 5]


def test_what_sees_its_frame_sees_the_users_variables():
    def f(x):
        y = x if x > 0 else -x
        return {name: value for name, value in locals().items() if not name.startswith("_sr_")}, eval("y + 1")

    assert same(f, -2)[1] == 3


def test_errors_have_the_lines_of_the_source():
    text = (
        "def f(x, n):\n"
        "    for i in range(n):\n"
        "        if (x > 0\n"
        "            and 1 / (x - i) > 0):\n"
        "            x = x if x else -x\n"
        "        while not x:\n"
        "            x = (lambda y: y /\n"
        "                 0)(x)\n"
        "    return unknown if x > 1 else later\n"
        "    later = 1\n"
    )
    f = function_from(text)
    assert same(f, 2, 5)[0] is ZeroDivisionError
    assert same(f, 2, 5)[2][-1][1] == 4
    assert [line for _, line, _ in same(f, 0, 1)[2]] == [7, 7]
    assert same(f, 1, 0)[0] is UnboundLocalError
    assert same(f, 2, 0)[:2] == (NameError, "name 'unknown' is not defined")


def test_a_value_is_asked_as_often_as_python_asks_it():
    asked = []

    class Asked:
        def __init__(self, name, answer):
            self.name, self.answer = name, answer

        def __bool__(self):
            asked.append(self.name)
            return self.answer

        def __repr__(self):
            return self.name

    def f(a, b, c):
        if (a and b) or not c:
            asked.append("then")
        while a and not b and c:
            break
        else:
            asked.append("else")
        return repr((a and b and c, a or (b and c), not a, b if c else a, 1 if a and b else 2))

    for answers in range(8):
        values = [Asked(name, bool(answers >> i & 1)) for i, name in enumerate("abc")]
        expected, known = f(*values), list(asked)
        asked.clear()
        assert (rewritten(f)(*values), asked) == (expected, known)
        asked.clear()


def test_chains_of_comparisons_compare_what_python_compares():
    compared = []

    class Compared:
        def __init__(self, value):
            self.value = value

        def __lt__(self, other):
            compared.append((self.value, other.value))
            return self.value < other.value

    def f(*parts):
        made = iter(parts)
        return next(made) < next(made) < next(made) < next(made)

    for values in ((1, 2, 3, 4), (1, 0, 3, 4), (1, 2, 2, 3)):
        parts = [Compared(value) for value in values]
        expected, known = f(*parts), list(compared)
        compared.clear()
        assert (rewritten(f)(*parts), compared) == (expected, known)
        compared.clear()


def test_with_try_match_and_del_keep_their_meaning():
    log = []

    class Manager:
        def __enter__(self):
            log.append("enter")

        def __exit__(self, *error):
            log.append(error[0])
            return error[0] is KeyError

    def f(xs):
        for x in xs:
            try:
                with Manager():
                    match x:
                        case 0:
                            continue
                        case int() if x > 5:
                            return x
                        case [first, *rest] if rest or first:
                            del x
                            x = first
                        case _:
                            raise KeyError if x else ValueError(x)
            except ValueError:
                log.append("caught")
                break
            finally:
                log.append("finally")
        else:
            return "else"
        return x

    for xs in ([], [0, 1], [0, 7], [[1, 2], "", 3], [3, [], 4]):
        log.clear()
        expected, known = f(xs), list(log)
        log.clear()
        assert (rewritten(f)(xs), log) == (expected, known)


def test_a_lambda_is_found_among_others():
    first, second = (lambda x: x if x > 0 else -x), (lambda x: x if x > 0 else -2 * x)
    assert (same(first, -1), same(second, -1)) == (1, 2)
    assert [same(f, 3) for f in [lambda x, k=k: x and x * k for k in range(3)]] == [0, 3, 6]


@pytest.mark.parametrize("text", ["def f(x):\n    return x if x else 1\n"])
def test_a_source_that_was_not_compiled_is_refused(text):
    f = function_from(text)
    assert refusal_of(f) is None
    changed = function_from(text.replace("1", "2"))
    changed.__code__ = changed.__code__.replace(co_filename=f.__code__.co_filename)
    assert "is not what was compiled" in refusal_of(changed)
    assert rewritten(changed) is changed
    gone = {}
    exec(text, gone)
    assert "is not there" in refusal_of(gone["f"])
    assert gone["f"](0) == rewritten(gone["f"])(0) == 1
