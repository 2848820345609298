// What the gradients written by hand have in common: `run` takes arrays and sizes, and repeats a gradient `n` times.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>
using Vector = std::vector<double>;
using Inputs = const double* const*;
using Sizes = const long*;
static void gradient(Inputs in, Sizes size, double* out);
extern "C" void run(Inputs in, Sizes size, double* out, long n) {
    for (long i = 0; i < n; ++i) {
        gradient(in, size, out);
        asm volatile("" : : "g"(out) : "memory");
    }
}
