// Bundle adjustment: for each observation two rows of the Jacobian, each by a reverse pass, and those of the weights.
#include "begin.hpp"
static void gradient(Inputs in, Sizes size, double* out) {
    const long p = size[2];
    const double *cameras = in[0], *points = in[1], *weights = in[2];
    const double* features = in[3];
    const long *by_camera = reinterpret_cast<const long*>(in[4]), *by_point = by_camera + p;
    for (long o = 0; o < p; ++o) {
        const double *c = cameras + 11 * by_camera[o], *point = points + 3 * by_point[o], *r = c;
        const double x[3] = {point[0] - c[3], point[1] - c[4], point[2] - c[5]};
        const double square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2], angle = std::sqrt(square);
        const double cosine = std::cos(angle), sine = std::sin(angle);
        const double s = sine / angle, dot = r[0] * x[0] + r[1] * x[1] + r[2] * x[2], u = (1 - cosine) / square;
        const double cross[3] = {r[1] * x[2] - r[2] * x[1], r[2] * x[0] - r[0] * x[2], r[0] * x[1] - r[1] * x[0]};
        double y[3];
        for (int i = 0; i < 3; ++i) y[i] = x[i] * cosine + cross[i] * s + r[i] * dot * u;
        const double seen[2] = {y[0] / y[2], y[1] / y[2]}, radius = seen[0] * seen[0] + seen[1] * seen[1];
        const double distortion = 1 + radius * (c[9] + radius * c[10]), w = weights[o];
        for (int e = 0; e < 2; ++e) {
            double* bar = out + (2 * o + e) * 15;
            std::fill(bar, bar + 15, 0.0);
            bar[14] = seen[e] * distortion * c[6] + c[7 + e] - features[2 * o + e];
            bar[7 + e] = w;
            bar[6] = w * seen[e] * distortion;
            const double distortion_bar = w * c[6] * seen[e];
            bar[9] = distortion_bar * radius, bar[10] = distortion_bar * radius * radius;
            const double radius_bar = distortion_bar * (c[9] + 2 * radius * c[10]);
            double seen_bar[2] = {2 * seen[0] * radius_bar, 2 * seen[1] * radius_bar};
            seen_bar[e] += w * c[6] * distortion;
            const double y_bar[3] = {
                seen_bar[0] / y[2], seen_bar[1] / y[2], -(seen_bar[0] * seen[0] + seen_bar[1] * seen[1]) / y[2]};
            double cosine_bar = 0, s_bar = 0, along_bar = 0, x_bar[3], r_bar[3], cross_bar[3];
            for (int i = 0; i < 3; ++i) {
                cosine_bar += y_bar[i] * x[i], s_bar += y_bar[i] * cross[i], along_bar += y_bar[i] * r[i];
                x_bar[i] = y_bar[i] * cosine, r_bar[i] = y_bar[i] * dot * u, cross_bar[i] = y_bar[i] * s;
            }
            const double dot_bar = along_bar * u, u_bar = along_bar * dot;
            for (int i = 0; i < 3; ++i) {
                const int j = (i + 1) % 3, k = (i + 2) % 3;
                r_bar[i] += dot_bar * x[i] + x[j] * cross_bar[k] - x[k] * cross_bar[j];
                x_bar[i] += dot_bar * r[i] + r[k] * cross_bar[j] - r[j] * cross_bar[k];
            }
            cosine_bar -= u_bar / square;
            const double angle_bar = s_bar * (cosine / angle - s / angle) - cosine_bar * sine;
            const double square_bar = -u_bar * u / square + angle_bar / (2 * angle);
            for (int i = 0; i < 3; ++i) {
                bar[i] = r_bar[i] + 2 * r[i] * square_bar;
                bar[11 + i] = x_bar[i], bar[3 + i] = -x_bar[i];
            }
        }
        out[30 * p + o] = -2 * w;
    }
}
