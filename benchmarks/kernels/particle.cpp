// A descent over a loop of Euler's steps, each with the force from a derivative of the potential. The sizes say whether
// the outer derivative, and the inner one, is by reverse mode.
#include "descent.hpp"
static const double STEP = 0.1;
template <typename T>
struct State {
    T x, y, x_speed, y_speed;
};
template <typename T>
static T potential(const T& x, const T& y, const T& w) {
    const T a = x - 10.0, b = y - 10.0 + w;
    return inverse_root(a * a + b * b) + inverse_root(a * a + y * y);
}
template <typename T>
static Point<T> slope_at(const T& x, const T& y, const T& w, bool is_reverse) {
    if (is_reverse) {
        const T a = x - 10.0, b = y - 10.0 + w, q_1 = a * a + b * b, q_2 = a * a + y * y;
        const T bar_1 = -0.5 * (inverse_root(q_1) / q_1), bar_2 = -0.5 * (inverse_root(q_2) / q_2);
        return {2.0 * (a * bar_1 + a * bar_2), 2.0 * (b * bar_1 + y * bar_2)};
    }
    const T one = constant<T>(1.0), none = constant<T>(0.0);
    const Dual<T> w_0 = {w, none};
    return {potential<Dual<T>>({x, one}, {y, none}, w_0).slope, potential<Dual<T>>({x, none}, {y, one}, w_0).slope};
}
template <typename T>
static T crossing(const T& w, bool is_reverse, std::vector<State<T>>* states = nullptr) {
    State<T> s = {constant<T>(0.0), constant<T>(8.0), constant<T>(0.75), constant<T>(0.0)};
    while (true) {
        if (states) states->push_back(s);
        const T x = s.x + STEP * s.x_speed, y = s.y + STEP * s.y_speed;
        if (plain(y) <= 0.0) return x - y / s.y_speed * s.x_speed;
        const Point<T> slope = slope_at(s.x, s.y, w, is_reverse);
        s = {x, y, s.x_speed - STEP * slope[0], s.y_speed - STEP * slope[1]};
    }
}
template <typename T>
static T miss(const T& w, bool is_reverse) {
    const T x = crossing(w, is_reverse);
    return x * x;
}
static double by_reverse(double w, bool is_reverse) {
    static std::vector<State<double>> states;
    states.clear();
    const double end = crossing(w, is_reverse, &states), bar = 2.0 * end;
    const State<double>& last = states.back();
    const double y_end = last.y + STEP * last.y_speed, ratio = y_end / last.y_speed;
    const double y_end_bar = -bar * last.x_speed / last.y_speed;
    State<double> s = {bar, y_end_bar, bar * STEP - bar * ratio,
                       y_end_bar * STEP + bar * ratio * last.x_speed / last.y_speed};
    double w_bar = 0;
    for (size_t k = states.size() - 1; k-- > 0;) {
        const State<double>& at = states[k];
        const double a = at.x - 10.0, b = at.y - 10.0 + w, q_1 = a * a + b * b, q_2 = a * a + at.y * at.y;
        const double r_1 = inverse_root(q_1) / q_1, r_2 = inverse_root(q_2) / q_2;
        const double p = -STEP * s.x_speed, q = -STEP * s.y_speed;  // how the slopes are needed
        const double along_1 = 3.0 * r_1 / q_1 * (a * p + b * q), along_2 = 3.0 * r_2 / q_2 * (a * p + at.y * q);
        const double x_bar = a * along_1 - r_1 * p + a * along_2 - r_2 * p;
        const double b_bar = b * along_1 - r_1 * q, y_bar = at.y * along_2 - r_2 * q;
        w_bar += b_bar;
        s = {s.x + x_bar, s.y + b_bar + y_bar, s.x_speed + STEP * s.x, s.y_speed + STEP * s.y};
    }
    return w_bar;
}
static void gradient(Inputs in, Sizes size, double* out) {
    const bool outer = size[0], inner = size[1];
    using One = std::array<double, 1>;
    auto slope = [&](const One& w) {
        return One{outer ? by_reverse(w[0], inner) : miss(Dual<double>{w[0], 1.0}, inner).slope};
    };
    out[0] = argmin([&](const One& w) { return miss(w[0], inner); }, slope, One{in[0][0]})[0];
}
