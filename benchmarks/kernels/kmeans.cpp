// Newton's step of the centres: the difference of each from the mean of the points that are nearest to it.
#include "begin.hpp"
static void gradient(Inputs in, Sizes size, double* out) {
    const long n = size[0], k = size[1], d = size[2];
    const double *points = in[0], *centres = in[1];
    static std::vector<long> count;
    count.assign(k, 0);
    std::fill(out, out + k * d, 0.0);
    for (long i = 0; i < n; ++i) {
        const double* p = points + i * d;
        double least = INFINITY;
        long nearest = 0;
        for (long j = 0; j < k; ++j) {
            double square = 0.0;
            for (long l = 0; l < d; ++l) square += (p[l] - centres[j * d + l]) * (p[l] - centres[j * d + l]);
            if (square < least) least = square, nearest = j;
        }
        ++count[nearest];
        for (long l = 0; l < d; ++l) out[nearest * d + l] += p[l];
    }
    for (long j = 0; j < k; ++j)
        for (long l = 0; l < d; ++l) out[j * d + l] = centres[j * d + l] - out[j * d + l] / count[j];
}
