// Numbers with a derivative along one direction, and GradBench's gradient descent.
//
// The descent decides by plain values. Its points keep their derivatives, and it notes the steps that it has taken, for
// a reverse pass through them.
#include "begin.hpp"
#include <array>
template <typename T>
struct Dual {
    T value, slope;
};
template <typename T>
using Point = std::array<T, 2>;
static double plain(double x) { return x; }
template <typename T>
static double plain(const Dual<T>& x) {
    return plain(x.value);
}
template <typename T, size_t N>
static std::array<double, N> plain(const std::array<T, N>& x) {
    std::array<double, N> y;
    for (size_t i = 0; i < N; ++i) y[i] = plain(x[i]);
    return y;
}
template <typename T>
static Dual<T> operator+(const Dual<T>& x, const Dual<T>& y) {
    return {x.value + y.value, x.slope + y.slope};
}
template <typename T>
static Dual<T> operator-(const Dual<T>& x, const Dual<T>& y) {
    return {x.value - y.value, x.slope - y.slope};
}
template <typename T>
static Dual<T> operator*(const Dual<T>& x, const Dual<T>& y) {
    return {x.value * y.value, x.slope * y.value + x.value * y.slope};
}
template <typename T>
static Dual<T> operator/(const Dual<T>& x, const Dual<T>& y) {
    const T z = x.value / y.value;
    return {z, (x.slope - z * y.slope) / y.value};
}
template <typename T>
static Dual<T> operator*(double x, const Dual<T>& y) {
    return {x * y.value, x * y.slope};
}
template <typename T>
static Dual<T> operator-(const Dual<T>& x, double y) {
    return {x.value - y, x.slope};
}
template <typename T>
static Dual<T> operator-(const Dual<T>& x) {
    return {-x.value, -x.slope};
}
static double inverse_root(double x) { return 1.0 / std::sqrt(x); }
template <typename T>
static Dual<T> inverse_root(const Dual<T>& x) {
    const T y = inverse_root(x.value);
    return {y, -0.5 * (y / x.value) * x.slope};
}
template <typename T>
static T constant(double x) {
    if constexpr (std::is_same_v<T, double>) {
        return x;
    } else {
        return {constant<decltype(T::value)>(x), constant<decltype(T::value)>(0.0)};
    }
}
template <size_t N>
static double length(const std::array<double, N>& x) {
    double sum = 0;
    for (double x_i : x) sum += x_i * x_i;
    return std::sqrt(sum);
}
// A step of a descent: from where, and how long.
template <size_t N>
struct Taken {
    std::array<double, N> from;
    double step;
};
template <typename T, size_t N, typename Cost, typename Gradient>
static std::array<T, N> argmin(
    Cost cost, Gradient gradient, const std::array<T, N>& start, std::vector<Taken<N>>* taken = nullptr) {
    std::array<T, N> x = start, slope = gradient(x), lower;
    double cost_x = cost(plain(x)), step = 1e-5;
    int in_a_row = 0;
    while (length(plain(slope)) > 1e-5) {
        if (in_a_row == 10) {
            step *= 2, in_a_row = 0;
            continue;
        }
        std::array<double, N> change;
        for (size_t i = 0; i < N; ++i) {
            lower[i] = x[i] - step * slope[i];
            change[i] = plain(x[i]) - plain(lower[i]);
        }
        if (length(change) <= 1e-5) break;
        const double cost_lower = cost(plain(lower));
        if (cost_lower < cost_x) {
            if (taken) taken->push_back({plain(x), step});
            x = lower, cost_x = cost_lower, slope = gradient(x), ++in_a_row;
        } else {
            step /= 2, in_a_row = 0;
        }
    }
    return x;
}
