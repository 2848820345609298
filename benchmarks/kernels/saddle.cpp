// A saddle point by a descent inside a descent. The sizes say whether the outer derivative, and the inner one, is by
// reverse mode; the outer reverse pass goes back through the steps of the inner descent.
#include "descent.hpp"
template <typename T>
static T payoff(const Point<T>& x, const Point<T>& y) {
    return (x[0] * x[0] + x[1] * x[1]) - (y[0] * y[0] + y[1] * y[1]);
}
// The gradient of -payoff in y.
template <typename T>
static Point<T> downhill(const Point<T>& x, const Point<T>& y, bool is_reverse) {
    if (is_reverse) return {2.0 * y[0], 2.0 * y[1]};
    const T one = constant<T>(1.0), none = constant<T>(0.0);
    const Point<Dual<T>> x_0 = {{{x[0], none}, {x[1], none}}};
    const Point<Dual<T>> along[2] = {{{{y[0], one}, {y[1], none}}}, {{{y[0], none}, {y[1], one}}}};
    return {-payoff(x_0, along[0]).slope, -payoff(x_0, along[1]).slope};
}
template <typename T>
static Point<T> best_answer(const Point<T>& x, const Point<double>& start, bool is_reverse,
                            std::vector<Taken<2>>* taken = nullptr) {
    return argmin(
        [&](const Point<double>& y) { return -payoff(plain(x), y); },
        [&](const Point<T>& y) { return downhill(x, y, is_reverse); },
        Point<T>{constant<T>(start[0]), constant<T>(start[1])}, taken);
}
static Point<double> by_forward(const Point<double>& x, const Point<double>& start, bool is_reverse) {
    Point<double> slope;
    for (int i = 0; i < 2; ++i) {
        const Point<Dual<double>> along = {{{x[0], double(i == 0)}, {x[1], double(i == 1)}}};
        slope[i] = payoff(along, best_answer(along, start, is_reverse)).slope;
    }
    return slope;
}
static Point<double> by_reverse(const Point<double>& x, const Point<double>& start, bool is_reverse) {
    static std::vector<Taken<2>> taken;
    taken.clear();
    const Point<double> y = best_answer(x, start, is_reverse, &taken);
    Point<double> x_bar = {2.0 * x[0], 2.0 * x[1]}, y_bar = {-2.0 * y[0], -2.0 * y[1]};
    for (size_t k = taken.size(); k-- > 0;) {  // the second derivatives are 2 in y, and 0 in x and y
        for (int i = 0; i < 2; ++i) y_bar[i] = y_bar[i] - taken[k].step * (2.0 * y_bar[i]);
    }
    return x_bar;
}
static void gradient(Inputs in, Sizes size, double* out) {
    const bool outer = size[0], inner = size[1];
    const Point<double> start = {in[0][0], in[0][1]};
    auto worst_case = [&](const Point<double>& x) { return payoff(x, best_answer(x, start, inner)); };
    const Point<double> x = argmin(
        worst_case,
        [&](const Point<double>& x) { return outer ? by_reverse(x, start, inner) : by_forward(x, start, inner); }, start);
    const Point<double> y = best_answer(x, start, inner);
    out[0] = x[0], out[1] = x[1], out[2] = y[0], out[3] = y[1];
}
