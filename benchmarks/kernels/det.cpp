// The determinant by expansion by minors, and the cofactors by the reverse of the same recursion.
#include "begin.hpp"
static long n;
static const double* a;
static double* bar;
static double minor_of(long row, unsigned columns) {  // of the last rows, in the columns that are left
    if (row == n) return 1.0;
    double sum = 0.0, sign = 1.0;
    for (long j = 0; j < n; ++j)
        if (columns >> j & 1) {
            sum += sign * a[row * n + j] * minor_of(row + 1, columns & ~(1u << j));
            sign = -sign;
        }
    return sum;
}
static double reverse(long row, unsigned columns, double seed) {  // which also returns the minor
    if (row == n) return 1.0;
    double sum = 0.0, sign = seed;
    for (long j = 0; j < n; ++j)
        if (columns >> j & 1) {
            double below = reverse(row + 1, columns & ~(1u << j), sign * a[row * n + j]);
            bar[row * n + j] += sign * below;
            sum += (sign == seed ? 1.0 : -1.0) * a[row * n + j] * below;
            sign = -sign;
        }
    return sum;
}
static void gradient(Inputs in, Sizes size, double* out) {
    n = size[0], a = in[0], bar = out;
    std::fill(out, out + n * n, 0.0);
    reverse(0, (1u << n) - 1, 1.0);
}
