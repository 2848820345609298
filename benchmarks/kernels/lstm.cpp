// A recurrent network whose layers read the whole sequence one after another; all that the way back needs is on a tape.
#include "begin.hpp"
static double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
enum { FORGET, IN, OUT, CHANGE, OLD_HIDDEN, OLD_CELL, TANH, INPUT, WORDS };
static void gradient(Inputs in, Sizes size, double* out) {
    const long layers = size[0], length = size[1] - 1, b = size[2], rows = 2 * layers;
    const double *main = in[0], *extra = in[1], *state = in[2], *sequence = in[3];
    static Vector tape, x, x_bar, hidden_bar, cell_bar, e;
    tape.resize(layers * length * b * WORDS), x.resize(length * b), x_bar.assign(length * b, 0.0);
    for (long t = 0; t < length; ++t)
        for (long i = 0; i < b; ++i) x[t * b + i] = sequence[t * b + i] * extra[i];
    for (long l = 0; l < layers; ++l) {
        const double *w = main + 2 * l * 4 * b, *bias = w + 4 * b;
        static Vector hidden, cell;
        hidden.assign(state + 2 * l * b, state + (2 * l + 1) * b);
        cell.assign(state + (2 * l + 1) * b, state + (2 * l + 2) * b);
        for (long t = 0; t < length; ++t)
            for (long i = 0; i < b; ++i) {
                double* p = &tape[((l * length + t) * b + i) * WORDS];
                p[INPUT] = x[t * b + i], p[OLD_HIDDEN] = hidden[i], p[OLD_CELL] = cell[i];
                p[FORGET] = sigmoid(p[INPUT] * w[i] + bias[i]);
                p[IN] = sigmoid(hidden[i] * w[b + i] + bias[b + i]);
                p[OUT] = sigmoid(p[INPUT] * w[2 * b + i] + bias[2 * b + i]);
                p[CHANGE] = std::tanh(hidden[i] * w[3 * b + i] + bias[3 * b + i]);
                cell[i] = cell[i] * p[FORGET] + p[IN] * p[CHANGE];
                p[TANH] = std::tanh(cell[i]);
                hidden[i] = x[t * b + i] = p[OUT] * p[TANH];
            }
    }
    double *main_bar = out, *extra_bar = out + rows * 4 * b;
    std::fill(out, out + rows * 4 * b + 3 * b, 0.0);
    e.resize(b);
    for (long t = 0; t < length; ++t) {
        const double *truth = sequence + (t + 1) * b, scale = -1.0 / (length * b);
        double sum = 2.0, total = 0.0;
        for (long i = 0; i < b; ++i) sum += e[i] = std::exp(x[t * b + i] * extra[b + i] + extra[2 * b + i]);
        for (long i = 0; i < b; ++i) total += truth[i];
        for (long i = 0; i < b; ++i) {
            double bar = scale * (truth[i] - total * e[i] / sum);
            extra_bar[b + i] += bar * x[t * b + i];
            extra_bar[2 * b + i] += bar;
            x_bar[t * b + i] = bar * extra[b + i];
        }
    }
    for (long l = layers - 1; l >= 0; --l) {
        const double* w = main + 2 * l * 4 * b;
        double *w_bar = main_bar + 2 * l * 4 * b, *bias_bar = w_bar + 4 * b;
        hidden_bar.assign(b, 0.0), cell_bar.assign(b, 0.0);
        for (long t = length - 1; t >= 0; --t)
            for (long i = 0; i < b; ++i) {
                const double* p = &tape[((l * length + t) * b + i) * WORDS];
                double h = hidden_bar[i] + x_bar[t * b + i];
                double o = h * p[TANH] * p[OUT] * (1 - p[OUT]);
                double c = cell_bar[i] + h * p[OUT] * (1 - p[TANH] * p[TANH]);
                double f = c * p[OLD_CELL] * p[FORGET] * (1 - p[FORGET]);
                double g = c * p[CHANGE] * p[IN] * (1 - p[IN]), z = c * p[IN] * (1 - p[CHANGE] * p[CHANGE]);
                w_bar[i] += f * p[INPUT], w_bar[b + i] += g * p[OLD_HIDDEN];
                w_bar[2 * b + i] += o * p[INPUT], w_bar[3 * b + i] += z * p[OLD_HIDDEN];
                bias_bar[i] += f, bias_bar[b + i] += g, bias_bar[2 * b + i] += o, bias_bar[3 * b + i] += z;
                hidden_bar[i] = g * w[b + i] + z * w[3 * b + i];
                cell_bar[i] = c * p[FORGET];
                x_bar[t * b + i] = f * w[i] + o * w[2 * b + i];
            }
    }
    for (long t = 0; t < length; ++t)
        for (long i = 0; i < b; ++i) extra_bar[i] += x_bar[t * b + i] * sequence[t * b + i];
}
