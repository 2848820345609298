// The product of a tree's values, and of x for each empty tree, with two numbers of each node on a tape.
#include "begin.hpp"
static Vector tape;
static const long *left, *right;
static const double* value;
static double total(long i, double x) {
    if (i < 0) return x;
    double l = total(left[i], x), r = total(right[i], x);
    tape.push_back(l), tape.push_back(r);
    return l * r * value[i];
}
static double slope(long i, double bar) {
    if (i < 0) return bar;
    double r = tape.back();
    tape.pop_back();
    double l = tape.back();
    tape.pop_back();
    bar = bar * value[i];
    double of_right = slope(right[i], bar * l);
    return of_right + slope(left[i], bar * r);
}
static void gradient(Inputs in, Sizes, double* out) {
    left = reinterpret_cast<const long*>(in[0]), right = reinterpret_cast<const long*>(in[1]), value = in[2];
    tape.clear();
    total(0, 1.00001);
    out[0] = slope(0, 1.0);
}
