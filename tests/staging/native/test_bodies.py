"""The names of a body that is written in another one."""

from shiftreset_ad.staging.native.bodies import naming


def test_names_get_a_suffix_but_for_those_that_are_shared_or_bound():
    named = naming(".1", {"x0": "%t7", "x1": "0x3FF0000000000000"})
    assert named("  %t3 = fmul double %x1, %t2") == "  %t3.1 = fmul double 0x3FF0000000000000, %t2.1"
    assert named("  store ptr %x0, ptr %top") == "  store ptr %t7, ptr %top"
    assert named("  br i1 %t4, label %yes_t4, label %stop") == "  br i1 %t4.1, label %yes_t4.1, label %stop"
    assert named("yes_t4:") == "yes_t4.1:"
    assert named("  %t5 = call double @f(ptr %frame, i64 3)") == "  %t5.1 = call double @f(ptr %frame, i64 3)"
    assert naming(".1", {"t2": "%t2.0"})("a:\n  %t1 = fneg double %t2") == "a.1:\n  %t1.1 = fneg double %t2.0"
