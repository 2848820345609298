// Van der Pol's oscillator by Runge and Kutta's method of fourth order, with the states of all steps on a tape.
#include "begin.hpp"
static void gradient(Inputs in, Sizes size, double* out) {
    const double h = 0.001, mu = in[0][0];
    const long steps = size[0];
    static Vector tape;
    tape.clear();
    double y = in[0][1], v = 0.5 * y;
    for (long t = 0; t < steps; ++t) {
        tape.push_back(y), tape.push_back(v);
        double a1 = v, b1 = mu * (1 - y * y) * v - y;
        double y2 = y + h / 2 * a1, v2 = v + h / 2 * b1, b2 = mu * (1 - y2 * y2) * v2 - y2;
        double y3 = y + h / 2 * v2, v3 = v + h / 2 * b2, b3 = mu * (1 - y3 * y3) * v3 - y3;
        double y4 = y + h * v3, v4 = v + h * b3, b4 = mu * (1 - y4 * y4) * v4 - y4;
        y += h / 6 * (a1 + 2 * (v2 + v3) + v4), v += h / 6 * (b1 + 2 * (b2 + b3) + b4);
    }
    double y_bar = 2 * y, v_bar = 2 * v, mu_bar = 0.0;
    for (long t = steps - 1; t >= 0; --t) {
        const double y = tape[2 * t], v = tape[2 * t + 1];
        double y2 = y + h / 2 * v, b1 = mu * (1 - y * y) * v - y, v2 = v + h / 2 * b1;
        double b2 = mu * (1 - y2 * y2) * v2 - y2, y3 = y + h / 2 * v2, v3 = v + h / 2 * b2;
        double b3 = mu * (1 - y3 * y3) * v3 - y3, y4 = y + h * v3, v4 = v + h * b3;
        auto back = [&](double y, double v, double b_bar, double& y_b, double& v_b) {
            mu_bar += (1 - y * y) * v * b_bar;
            y_b += (-2 * mu * y * v - 1) * b_bar, v_b += mu * (1 - y * y) * b_bar;
        };
        double y4_bar = 0, v4_bar = h / 6 * y_bar, y3_bar = 0, v3_bar = h / 3 * y_bar, y2_bar = 0, v2_bar = h / 3 * y_bar;
        double y1_bar = y_bar, v1_bar = v_bar + h / 6 * y_bar;
        back(y4, v4, h / 6 * v_bar, y4_bar, v4_bar);
        y1_bar += y4_bar, v1_bar += v4_bar, v3_bar += h * y4_bar;
        back(y3, v3, h / 3 * v_bar + h * v4_bar, y3_bar, v3_bar);
        y1_bar += y3_bar, v1_bar += v3_bar, v2_bar += h / 2 * y3_bar;
        back(y2, v2, h / 3 * v_bar + h / 2 * v3_bar, y2_bar, v2_bar);
        y1_bar += y2_bar, v1_bar += v2_bar + h / 2 * y2_bar;
        back(y, v, h / 6 * v_bar + h / 2 * v2_bar, y1_bar, v1_bar);
        y_bar = y1_bar, v_bar = v1_bar;
    }
    out[0] = mu_bar, out[1] = y_bar + 0.5 * v_bar;
}
