"""Reverse mode in CPS: Wang et al. 2019, Fig. 11, and the transformed programs that the supplement prints."""

import pytest

from shiftreset_ad.formulations.language import App, Const, Let, evaluate, parse, run, show
from shiftreset_ad.formulations.language.sources import subterms
from shiftreset_ad.formulations.wang import source_cps, source_meta
from tests.formulations.wang.source_cases import same_up_to_names

translators = pytest.mark.parametrize("room", [source_cps, source_meta], ids=["Fig. 11", "Fig. 10"])


def hat(y, value):
    """let ŷ = value in"""
    return f"let {y}_hat = {value} in let {y} = fst {y}_hat in let {y}' = snd {y}_hat in"


def printed(body):
    """Transform(f), where the body of f in CPS is `body`, with argument xt and continuation k."""
    return parse(f"""
        fun x -> {hat("x1", "(x, ref 0.0)")}
        (fun xt -> fun k -> {body}) x1_hat (fun y -> {hat("y1", "y")} y1' := 1.0);
        !x1'
    """)


LOOP = """
    fun x -> let l = inr (inr (inl ())) in
    let f0 = fun f -> fun ll -> fun ac -> case ll of y1 -> ac | y2 -> f f y2 (x * ac) in
    f0 f0 l 1.0
"""
LOOP_TRANSFORMED = printed(f"""
    let l = inr (inr (inl ())) in
    let f0 = fun f -> fun k1 -> k1 (fun ll -> fun k2 -> k2 (fun ac -> fun k3 ->
        case ll of y1 -> k3 ac | y2 ->
            (f f) (fun a3 -> (a3 y2) (fun a2 ->
            {hat("z1", "xt")}
            {hat("z2", "ac")}
            {hat("z", "(z1 * z2, ref 0.0)")}
            (a2 z_hat) k3;
            z1' := !z1' + !z' * z2;
            z2' := !z2' + !z' * z1)))) in
    (f0 f0) (fun a22 -> (a22 l) (fun a11 -> (a11 (1.0, ref 0.0)) k))
""")
LIST = """
    fun x -> let l = inr (5.0, inr (6.0, inl ())) in
    let f0 = fun f -> fun ll -> case ll of y1 -> x | y2 -> fst y2 * ((f f) (snd y2)) in
    (f0 f0) l
"""
LIST_TRANSFORMED = printed(f"""
    let l = inr ((5.0, ref 0.0), inr ((6.0, ref 0.0), inl ())) in
    let f0 = fun f -> fun k1 -> k1 (fun ll -> fun k2 ->
        case ll of y1 -> k2 xt | y2 ->
            (f f) (fun a1 -> (a1 (snd y2)) (fun a ->
            {hat("z1", "fst y2")}
            {hat("z2", "a")}
            {hat("z", "(z1 * z2, ref 0.0)")}
            k2 z_hat;
            z1' := !z1' + !z' * z2;
            z2' := !z2' + !z' * z1))) in
    (f0 f0) (fun a11 -> (a11 l) k)
""")
TREE = """
    fun x -> let t = inr (5.0, (inl (), inl ())) in
    let f0 = fun f -> fun tt -> case tt of y1 -> x | y2 ->
        fst y2 + (f f (fst (snd y2))) + (f f (snd (snd y2))) in
    (f0 f0) t
"""
TREE_TRANSFORMED = printed(f"""
    let t = inr ((5.0, ref 0.0), (inl (), inl ())) in
    let f0 = fun f -> fun k1 -> k1 (fun tt -> fun k2 ->
        case tt of y1 -> k2 xt | y2 ->
            (f f) (fun a1 -> (a1 (fst (snd y2))) (fun a ->
            {hat("z1", "fst y2")}
            {hat("z2", "a")}
            {hat("z", "(z1 + z2, ref 0.0)")}
            ((f f) (fun b1 -> (b1 (snd (snd y2))) (fun b ->
                {hat("w1", "z_hat")}
                {hat("w2", "b")}
                {hat("w", "(w1 + w2, ref 0.0)")}
                k2 w_hat;
                w1' := !w1' + !w';
                w2' := !w2' + !w')));
            z1' := !z1' + !z';
            z2' := !z2' + !z'))) in
    (f0 f0) (fun a11 -> (a11 t) k)
""")
PRINTED = {
    "loop": (LOOP, LOOP_TRANSFORMED, lambda x: 2 * x),
    "list": (LIST, LIST_TRANSFORMED, lambda x: 30.0),
    "tree": (TREE, TREE_TRANSFORMED, lambda x: 2.0),
}


@translators
@pytest.mark.parametrize("example", PRINTED)
def test_examples_are_transformed_as_printed_in_the_supplement(room, example):
    """But for misprints there: in the loop, x stands for the variable that is bound to x̂."""
    text, expected, derivative = PRINTED[example]
    transformed = room.transform(parse(text))
    assert same_up_to_names(transformed, expected), f"{show(transformed)}\n\n{show(expected)}"
    assert evaluate(transformed)(3.0) == evaluate(expected)(3.0) == derivative(3.0)


@translators
@pytest.mark.parametrize(
    ("operation", "accumulation"),
    [
        ("a + b", "y1' := !y1' + !y'; y2' := !y2' + !y'"),
        ("a * b", "y1' := !y1' + !y' * y2; y2' := !y2' + !y' * y1"),
    ],
)
def test_rules_for_arithmetic(room, operation, accumulation):
    """fun p -> e1 op e2, where p is (a, b), as in the figure."""
    answer = operation.replace("a", "y1").replace("b", "y2")
    expected = parse(f"""
        fun x -> let a = fst x in let b = snd x in
        {hat("xa", "(a, ref 0.0)")}
        {hat("xb", "(b, ref 0.0)")}
        (fun p -> fun k ->
            {hat("y1", "fst p")}
            {hat("y2", "snd p")}
            {hat("y", f"({answer}, ref 0.0)")}
            k y_hat; {accumulation})
        (xa_hat, xb_hat) (fun z -> {hat("w", "z")} w' := 1.0);
        (!xa', !xb')
    """)
    source = parse(f"fun p -> {operation.replace('a', 'fst p').replace('b', 'snd p')}")
    assert same_up_to_names(room.transform(source, like=(1.0, 1.0)), expected)


@translators
def test_tail_calls_stay_tail_calls(room):
    """The wavy underline: a call in the place of a tail gets the continuation itself, and a case does not name it."""
    transformed = room.transform(parse("fun x -> let f = fun y -> y in if x < 1.0 then f x else f (f x)"))
    expected = parse(f"""
        fun x -> {hat("x1", "(x, ref 0.0)")}
        (fun xt -> fun k -> let f = fun y -> fun k1 -> k1 y in
            if fst xt < fst (1.0, ref 0.0) then f xt k else f xt (fun a -> f a k))
        x1_hat (fun y -> {hat("y1", "y")} y1' := 1.0);
        !x1'
    """)
    assert same_up_to_names(transformed, expected), show(transformed)


@translators
def test_continuation_of_a_case_is_named_once(room):
    transformed = room.transform(parse("fun x -> (if x < 1.0 then x else 2.0) * x"))
    (named,) = (term for term in subterms(transformed) if isinstance(term, Let) and term.name.startswith("k"))
    assert run(App(transformed, Const(0.5))) == 1.0
    assert run(App(transformed, Const(1.5))) == 2.0
    assert named.value.parameter == "a"


PRODUCT = "k y_hat; y1' := !y1' + !y' * y2; y2' := !y2' + !y' * y1"


@translators
def test_first_operand_is_read_before_the_call_of_the_second(room):
    """The rule as printed would read r after the call: `!r * f x` would be 3 x."""
    f = parse("fun x -> let r = ref x in let f = fun y -> r := 3.0; y in !r * f x")
    expected = printed(f"""
        let r = ref xt in let f = fun y -> fun k1 -> r := (3.0, ref 0.0); k1 y in
        let v = !r in
        f xt (fun a -> {hat("y1", "v")} {hat("y2", "a")} {hat("y", "(y1 * y2, ref 0.0)")} {PRODUCT})
    """)
    assert same_up_to_names(room.transform(f), expected)
    assert room.grad(f)(2.0) == 4.0


def test_continuation_of_a_case_of_a_call():
    """In Fig. 10 its code goes around the name of the continuation, in Fig. 11 inside: as they are printed."""
    f = parse("fun x -> let f = fun y -> inr y in (case f x of a -> x | b -> b) * x")
    k1 = f"""fun a -> {hat("y1", "a")} {hat("y2", "xt")} {hat("y", "(y1 * y2, ref 0.0)")} {PRODUCT}"""
    case = "case v of a -> k1 xt | b -> k1 b"
    head = "let f = fun y -> fun k2 -> k2 (inr y) in"
    by_meta = printed(f"{head} f xt (fun v -> let k1 = {k1} in {case})")
    by_cps = printed(f"{head} let k1 = {k1} in f xt (fun v -> {case})")
    assert same_up_to_names(source_meta.transform(f), by_meta)
    assert same_up_to_names(source_cps.transform(f), by_cps)
    assert source_meta.grad(f)(2.0) == source_cps.grad(f)(2.0) == 4.0


def test_comparison_up_to_names():
    assert same_up_to_names(parse("fun x -> fun y -> x y"), parse("fun y -> fun x -> y x"))
    assert not same_up_to_names(parse("fun x -> fun y -> x y"), parse("fun x -> fun y -> y x"))
    assert not same_up_to_names(parse("fun x -> x + 1.0"), parse("fun x -> x + 2.0"))
    assert not same_up_to_names(parse("fun x -> x + x"), parse("fun x -> x * x"))
