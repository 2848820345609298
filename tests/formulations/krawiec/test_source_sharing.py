"""The monadic translation, Fig. 9 to 11."""

import pytest

from shiftreset_ad.formulations.krawiec import sharing
from shiftreset_ad.formulations.krawiec.source_sharing import (
    DEFINITIONS,
    START,
    grad,
    one_hot,
    run_delta,
    trace,
    transform,
)
from shiftreset_ad.formulations.language import Let, evaluate, free_variables, parse, run
from shiftreset_ad.formulations.language.values import Left, Right


def without_definitions(term):
    for _ in DEFINITIONS:
        assert isinstance(term, Let)
        term = term.body
    return term


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("x", "return x"),
        ("()", "return ()"),
        ("3.0", "bind (deltaLet zero) (fun d -> return (3.0, d))"),
        ("fun x -> x", "return (fun x -> return x)"),
        ("f x", "bind (return f) (fun v -> bind (return x) (fun v1 -> v v1))"),
        ("let y = x in y", "bind (return x) (fun y -> return y)"),
        ("fst x", "bind (return x) (fun v -> return (fst v))"),
        ("(x, y)", "bind (return x) (fun v -> bind (return y) (fun v1 -> return (v, v1)))"),
        ("case x of a -> a | b -> y", "bind (return x) (fun v -> case v of a -> return a | b -> return y)"),
        ("x < y", "bind (return x) (fun v -> bind (return y) (fun v1 -> return (fst v < fst v1)))"),
        ("r := x", "bind (return r) (fun v -> bind (return x) (fun v1 -> return (v := v1)))"),
        (
            "sin x",
            "bind (return x) (fun v -> let x1 = fst v in let d = snd v in let y = sin x1 in "
            "bind (deltaLet (scale (cos x1) d)) (fun d1 -> return (y, d1)))",
        ),
    ],
)
def test_rules(source, target):
    assert without_definitions(transform(parse(source))) == parse(target)


def test_monad_laws():
    """By what the computations do from a state: return is neutral, and bind is associative."""
    names = "\n".join(f"let {name} = {definition} in" for name, definition in DEFINITIONS.items())
    m = "deltaLet zero"
    k, h = "(fun a -> bind (deltaLet (scale 2.0 a)) (fun b -> return (a, b)))", "(fun p -> deltaLet (snd p))"

    def done(computation):
        return evaluate(parse(f"{names} {computation}"))(START)

    assert done(f"bind (return zero) {k}") == done(f"{k} zero")
    assert done(f"bind ({m}) return") == done(m)
    assert done(f"bind (bind ({m}) {k}) {h}") == done(f"bind ({m}) (fun a -> bind ({k} a) {h})")


def test_the_target_is_closed_whatever_names_the_source_has():
    source = parse("fun return -> let bind = return * return in let d = fun zero -> bind * zero in d return")
    assert free_variables(transform(source)) == set()
    assert free_variables(transform(parse("x + bind"))) == {"x", "bind"}


def test_both_interpreters():
    term = parse("computation start")
    target = transform(parse("let f = fun y -> y * sin y in (f 2.0, f (f 3.0))"))
    by_python = evaluate(target)(START)
    assert run(term, {"computation": run(target), "start": START}) == by_python


def test_same_bindings_as_by_overloading():
    """If there are no literals, which Python does not make numbers of."""
    text = "fun x -> let y = x * x in let f = fun z -> y * sin z in f (f x) + y"
    _, bindings = trace(parse(text))(0.7)
    terms = []
    while isinstance(bindings, Right):
        (_, delta), bindings = bindings.value
        terms.append(delta)
    by_overloading = [delta for _, delta in sharing.trace(parse(text))(0.7).bindings]
    assert [as_text(delta) for delta in reversed(terms)] == [sharing.text(delta) for delta in by_overloading]


def as_text(delta):
    match delta:
        case Left(()):
            return "0"
        case Right(Left(i)):
            return f"x{i}"
        case Right(Right(Left((r, scaled)))):
            return f"{r} * {as_text(scaled)}"
        case Right(Right(Right(Left((left, right))))):
            return f"{as_text(left)} + {as_text(right)}"
        case Right(Right(Right(Right(name)))):
            return f"d{int(name)}"


def test_effects_happen_in_the_order_of_the_source():
    text = "fun x -> let r = ref x in let a = !r * (r := !r * !r; !r) in (r := a + !r; !r * a)"
    x = 1.3  # a = x * x**2, and then (a + x**2) * a = x**6 + x**5
    assert grad(parse(text))(x) == pytest.approx(6 * x**5 + 5 * x**4)


def test_way_back():
    """y = d1 where d1 = 3 d0 + x1 and d0 = 2 x0; d2 is not used."""
    scale, add, var = (lambda r, d: Right(Right(Left((r, d)))), lambda a, b: Right(Right(Right(Left((a, b))))), None)
    var = lambda i: Right(Right(Right(Right(i))))  # noqa: E731
    bindings = Left(())
    for binding in enumerate([scale(2.0, one_hot(0)), add(scale(3.0, var(0)), one_hot(1)), scale(9.0, var(1))]):
        bindings = Right((binding, bindings))
    assert run_delta(var(1), bindings, 10.0, 3) == [60.0, 10.0, 0.0]
    assert run_delta(Left(()), bindings, 10.0, 1) == [0.0]


@pytest.mark.parametrize("text", ["reset (x * 2.0)", "shift k in k x", "fun x -> reset (shift k in x)"])
def test_shift_and_reset_are_refused(text):
    with pytest.raises(TypeError, match="shift or reset"):
        transform(parse(text))
