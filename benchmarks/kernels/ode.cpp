// Runge and Kutta's method for y' = x * (1, y[0], y[1], ...), with all stages on a tape, and its reverse.
#include "begin.hpp"
static long n;
static const double* x;
static void rate(const double* y, double* k) {
    k[0] = x[0];
    for (long i = 1; i < n; ++i) k[i] = x[i] * y[i - 1];
}
static void back(const double* y, const double* k_bar, double* y_bar, double* x_bar) {  // adds to both
    x_bar[0] += k_bar[0];
    for (long i = 1; i < n; ++i) x_bar[i] += k_bar[i] * y[i - 1];
    for (long i = 1; i < n; ++i) y_bar[i - 1] += k_bar[i] * x[i];
}
static void gradient(Inputs in, Sizes size, double* x_bar) {
    n = size[0], x = in[0];
    const long steps = size[1];
    const double h = 2.0 / steps, weight[4] = {0.0, h / 2, h / 2, h}, share[4] = {h / 6, h / 3, h / 3, h / 6};
    static Vector tape, y, k, y_bar, s_bar, k_bar;
    tape.resize(4 * n * steps), y.assign(n, 0.0), k.assign(n, 0.0), y_bar.assign(n, 0.0);
    s_bar.resize(n), k_bar.resize(n);
    for (long t = 0; t < steps; ++t) {
        double* stage = &tape[4 * n * t];
        static Vector next;
        next = y;
        for (int s = 0; s < 4; ++s, stage += n) {
            for (long i = 0; i < n; ++i) stage[i] = y[i] + weight[s] * k[i];
            rate(stage, k.data());
            for (long i = 0; i < n; ++i) next[i] += share[s] * k[i];
        }
        y.swap(next);
    }
    std::fill(x_bar, x_bar + n, 0.0);
    y_bar[n - 1] = 1.0;
    for (long t = steps - 1; t >= 0; --t) {
        static Vector before;
        before = y_bar;
        std::fill(s_bar.begin(), s_bar.end(), 0.0);
        for (int s = 3; s >= 0; --s) {
            const double later = s < 3 ? weight[s + 1] : 0.0;
            for (long i = 0; i < n; ++i) k_bar[i] = share[s] * y_bar[i] + later * s_bar[i];
            std::fill(s_bar.begin(), s_bar.end(), 0.0);
            back(&tape[(4 * t + s) * n], k_bar.data(), s_bar.data(), x_bar);
            for (long i = 0; i < n; ++i) before[i] += s_bar[i];
        }
        y_bar.swap(before);
    }
}
