// The posterior of a mixture of Gaussians, with a Wishart prior, and its reverse, point by point.
#include "begin.hpp"
static void gradient(Inputs in, Sizes size, double* out) {
    const long n = size[0], k = size[1], d = size[2], many = d * (d - 1) / 2;
    const double *alpha = in[0], *mu = in[1], *q = in[2], *lower = in[3], *x = in[4];
    double *alpha_bar = out, *mu_bar = out + k, *q_bar = mu_bar + k * d, *lower_bar = q_bar + k * d;
    std::fill(out, out + k + 2 * k * d + k * many, 0.0);
    static Vector diagonal, sums, term, centred, white, white_bar;
    diagonal.resize(k * d), sums.assign(k, 0.0), term.resize(k), centred.resize(k * d), white.resize(k * d);
    white_bar.resize(d);
    for (long i = 0; i < k * d; ++i) diagonal[i] = std::exp(q[i]), sums[i / d] += q[i];
    for (long p = 0; p < n; ++p) {
        double largest = -INFINITY, sum = 0.0;
        for (long j = 0; j < k; ++j) {
            double *c = &centred[j * d], *w = &white[j * d], square = 0.0;
            const double* l = lower + j * many;
            for (long i = 0; i < d; ++i) c[i] = x[p * d + i] - mu[j * d + i], w[i] = diagonal[j * d + i] * c[i];
            for (long column = 0; column < d; ++column)
                for (long i = column + 1; i < d; ++i) w[i] += *l++ * c[column];
            for (long i = 0; i < d; ++i) square += w[i] * w[i];
            term[j] = alpha[j] + sums[j] - 0.5 * square;
            largest = std::max(largest, term[j]);
        }
        for (long j = 0; j < k; ++j) sum += term[j] = std::exp(term[j] - largest);
        for (long j = 0; j < k; ++j) {
            const double bar = term[j] / sum, *c = &centred[j * d], *w = &white[j * d], *l = lower + j * many;
            double *l_bar = lower_bar + j * many, *m_bar = mu_bar + j * d, *w_bar = white_bar.data();
            alpha_bar[j] += bar;
            for (long i = 0; i < d; ++i) {
                w_bar[i] = -bar * w[i];
                q_bar[j * d + i] += bar + w_bar[i] * c[i] * diagonal[j * d + i];
                m_bar[i] -= w_bar[i] * diagonal[j * d + i];
            }
            for (long column = 0; column < d; ++column)
                for (long i = column + 1; i < d; ++i, ++l) {
                    *l_bar++ += w_bar[i] * c[column];
                    m_bar[column] -= w_bar[i] * *l;
                }
        }
    }
    double largest = *std::max_element(alpha, alpha + k), sum = 0.0;
    for (long j = 0; j < k; ++j) sum += term[j] = std::exp(alpha[j] - largest);
    for (long j = 0; j < k; ++j) alpha_bar[j] -= n * term[j] / sum;  // gamma is 1, and m is 0
    for (long i = 0; i < k * d; ++i) q_bar[i] -= diagonal[i] * diagonal[i];
    for (long i = 0; i < k * many; ++i) lower_bar[i] -= lower[i];
}
