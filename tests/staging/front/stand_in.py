"""A control that stands in for the one that records: symbols with values, which must not be asked and must not escape.

It carries out both branches and takes the values of one of them, and a round of each loop on trial. So a program gives
the values of Python if it hands over the right blocks with the right states.
"""

import operator
import sys
from contextlib import contextmanager
from types import CellType

import numpy as np

from shiftreset_ad.rules.stand_ins import recorder
from shiftreset_ad.staging.front.running import entered
from shiftreset_ad.staging.front.session import Session
from shiftreset_ad.staging.seen.surroundings import Surroundings


class GivenUpError(Exception):
    """The recording is given up."""


class EscapedError(BaseException):
    """A symbol of a block is used after the block."""


class Symbol:
    __module__ = Session.__module__  # effects do not look into values of ours, which a module of ours tells
    __slots__ = ("_home", "_stand_in", "value")
    __array_ufunc__ = None

    def __init__(self, stand_in, value):
        self._stand_in = stand_in
        self._home = stand_in.blocks[-1]
        self.value = value

    def seen(self):
        if self._home not in self._stand_in.blocks:
            raise EscapedError
        return self.value

    def asked(self):
        if len(self._stand_in.blocks) > 1:
            raise GivenUpError("a question in a block")
        self._stand_in.questions += 1
        return self.seen()

    def __bool__(self):
        return bool(self.asked())

    def __int__(self):
        return int(self.asked())

    def __float__(self):
        return float(self.asked())

    def __index__(self):
        return operator.index(self.asked())

    def __repr__(self):
        return repr(self.asked())

    def __format__(self, spec):
        return format(self.asked(), spec)

    def __hash__(self):
        return hash(self.asked())

    def __len__(self):
        return len(self.value)

    def __iter__(self):
        return (self[i] for i in range(len(self.value)))

    @property
    def shape(self):
        return np.shape(self.value)


def plain(x):
    return x.seen() if type(x) is Symbol else x


def plain_tree(x):
    return type(x)(map(plain_tree, x)) if type(x) in (tuple, list) else plain(x)


def add_operator(name):
    function = getattr(operator, name if name != "__divmod__" else "__floordiv__")

    def operate(self, *others):
        return Symbol(self._stand_in, function(self.seen(), *map(plain, others)))

    def reflected(self, other):
        return Symbol(self._stand_in, function(plain(other), self.seen()))

    setattr(Symbol, name, operate)
    if name in ARITHMETIC:
        setattr(Symbol, f"__r{name[2:]}", reflected)


ARITHMETIC = (
    *("__add__", "__sub__", "__mul__", "__truediv__", "__floordiv__", "__mod__", "__pow__", "__and__", "__or__"),
    "__xor__",
)
for _name in (*ARITHMETIC, "__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "__neg__", "__pos__"):
    add_operator(_name)
for _name in ("__abs__", "__getitem__"):
    add_operator(_name)

NUMBERS = (bool, int, float, np.generic, np.ndarray)


class NoVersions:
    """The versions of arrays in programs that write to no symbol."""

    @contextmanager
    def kept(self):
        yield lambda: None

    def begin(self, x, origin):
        pass

    def require_last(self, values):
        pass

    def require_no_common_memory(self, arrays):
        pass


class StandIn:
    """It keeps what was handed over: the names of the blocks and the lengths of the states."""

    error = GivenUpError
    steps = 0  # so no loop is long

    def __init__(self, f):
        self._surroundings = Surroundings(f)
        self.versions = NoVersions()
        self.blocks = [object()]
        self.questions = 0
        self.handed_over = []
        self.carried_out = 0  # blocks

    def symbol(self, value):
        return Symbol(self, value)

    def is_outside(self, x):
        return self._surroundings.has_variable(x) if type(x) is CellType else id(x) in self._surroundings.seen

    def is_kept(self, x):
        return False

    def is_staged(self, x):
        return type(x) is Symbol and np.size(x.value) == 1

    def is_staged_array(self, x):
        return type(x) is Symbol and np.ndim(x.value) > 0

    def type_of(self, x):
        return type(plain(x))

    def refuse(self, reason):
        raise GivenUpError(reason)

    def truth(self, x):
        return Symbol(self, bool(x.seen())) if type(x) is Symbol else bool(x)

    def required(self, x, answer):
        return x

    def mark(self):
        return None

    def rewind(self, mark):
        pass

    def items(self, items, note):
        if type(items) is Symbol or type(items) is np.ndarray:
            return lambda i: Symbol(self, plain(items)[plain(i)])
        if len({type(plain(x)) for x in items}) > 1 or not all(isinstance(plain(x), NUMBERS) for x in items):
            return None
        return lambda i: Symbol(self, plain(items[plain(i)]))

    def item(self, x, index, note):
        choice = None if type(index) is not Symbol or isinstance(index.value, bool) else self.items(x, note)
        return x[index] if choice is None else choice(index)

    def number(self, items, index):
        return self.item(items, index, None)

    def write(self, items, index, item):
        if type(index) is not Symbol or not all(isinstance(plain(x), NUMBERS) for x in [item, *items]):
            items[index] = item
            return
        values = [plain(x) for x in items]
        values[plain(index)] = plain(item)
        items[:] = [Symbol(self, value) for value in values]

    def in_block(self, function, *args):
        """The plain values that a block answers."""
        self.blocks.append(object())
        self.carried_out += 1
        try:
            answer = function(*args)
            return plain_tree(answer)
        except (GivenUpError, EscapedError):
            raise
        except Exception as error:
            raise GivenUpError(f"it raises {error!r}") from error
        finally:
            self.blocks.pop()

    def cond(self, pred, true_fun, false_fun):
        self.handed_over.append("cond")
        answers = [self.in_block(true_fun), self.in_block(false_fun)]
        return self.joined(*answers, answers[0 if pred.seen() else 1])

    def joined(self, a, b, taken):
        if a is b:
            return a
        if type(a) is type(b) in (tuple, list) and len(a) == len(b):
            return type(a)([self.joined(*parts) for parts in zip(a, b, taken, strict=True)])
        if not (isinstance(a, NUMBERS) and isinstance(b, NUMBERS)):
            raise GivenUpError(f"the branches have {a!r} and {b!r}")
        return Symbol(self, taken)

    def while_loop(self, cond_fun, body_fun, init):
        self.handed_over.append(f"while_loop of {len(init)}")
        state = tuple(map(plain, init))
        carried = [isinstance(x, NUMBERS) for x in state]

        def test_of(state):
            return cond_fun(self.state(state, carried))

        def round_of(state):
            return body_fun(self.state(state, carried))

        is_first = True
        while True:
            goes_on = self.in_block(test_of, state)
            if is_first or goes_on:
                after = self.in_block(round_of, state)
                for x, y, is_carried in zip(state, after, carried, strict=True):
                    if x is not y and not (is_carried and isinstance(y, NUMBERS)):
                        raise GivenUpError(f"a loop has {x!r} and then {y!r}")
            if not goes_on:
                return self.state(state, carried)
            state, is_first = after, False

    def has_staged(self, tree):
        return type(tree) is Symbol or (isinstance(tree, tuple | list) and any(map(self.has_staged, tree)))

    def self_calling(self, function):
        self.handed_over.append("function")
        return SelfCalling(self, function)

    def state(self, state, carried):
        return tuple([Symbol(self, x) if is_carried else x for x, is_carried in zip(state, carried, strict=True)])


class SelfCalling:
    """A function that calls itself: its first call goes through its blocks, and a call inside is Python's."""

    def __init__(self, stand_in, function):
        self._stand_in = stand_in
        self._function = function

    def __call__(self, *args, **kwargs):
        return self._function(*args, **kwargs)

    def again(self, *args, **kwargs):
        answer = self._function(*map(plain, args), **{name: plain(arg) for name, arg in kwargs.items()})
        return symbolic(answer, self._stand_in)


def symbolic(x, stand_in):
    if isinstance(x, list):
        return [symbolic(part, stand_in) for part in x]
    return stand_in.symbol(x) if isinstance(x, (bool, int, float, np.ndarray)) else x


def without_symbols(x):
    if isinstance(x, (list, tuple)):
        return type(x)(map(without_symbols, x))
    return plain(x)


class SessionOfPlainLists(Session):
    """A session in which no list becomes an array of values that are recorded: here are none."""

    def grows_by(self, site):
        pass

    def may_grow(self, items, now):
        return False


def written(f, *args, which=None, given_up=None):
    """What `f` gives for symbols in place of its numbers, and the session and the stand-in that were used.

    Those that were given up before are added to `given_up`.
    """
    given_up = [] if given_up is None else given_up
    session = None
    while True:
        stand_in = StandIn(f)
        if session is None:
            session = SessionOfPlainLists(stand_in, {}, {}, {})
        known = session.refusals, session.recursive, session.entered, session.visited
        refusals, recursive, entered_code, visited = known
        session = SessionOfPlainLists(stand_in, refusals, {}, recursive, entered_code, visited=visited)
        before = sizes(known)
        inputs = [symbolic(x, stand_in) if which is None or i in which else x for i, x in enumerate(args)]
        try:
            with watched(), session.opened():
                answer = entered(f, *inputs)
            return without_symbols(answer), session, stand_in
        except GivenUpError:
            given_up.append(stand_in)
            assert sizes(known) != before, "given up, and nobody is to blame"


class AsksAboutCalls:
    """A watch that looks at no instruction."""

    @contextmanager
    def asking(self, ask):
        before = sys.gettrace()
        sys.settrace(lambda frame, event, arg: ask(frame))
        try:
            yield
        finally:
            sys.settrace(before)


@contextmanager
def watched():
    recorder.watch = AsksAboutCalls()
    try:
        yield
    finally:
        recorder.watch = None


def sizes(known):
    """How much is known, to see whether there is more."""
    return [*map(len, known), *map(len, known[-1].values())]
