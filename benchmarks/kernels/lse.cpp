// log(sum(exp(x))): the gradient is the exponentials about the largest element, divided by their sum.
#include "begin.hpp"
static void gradient(Inputs in, Sizes size, double* out) {
    const double* x = in[0];
    double largest = *std::max_element(x, x + size[0]), sum = 0.0;
    for (long i = 0; i < size[0]; ++i) sum += out[i] = std::exp(x[i] - largest);
    for (long i = 0; i < size[0]; ++i) out[i] /= sum;
}
