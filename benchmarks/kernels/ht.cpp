// Hand tracking: the Jacobian by forward mode. The matrix of a bone depends on its finger's four angles alone, which
// those of the bones before it hand on to it. All vertices are moved; only the chosen ones are turned.
#include "begin.hpp"
static const long ANGLES = 4, MOST = 3 * (ANGLES + 1);  // of a finger; numbers of a vertex and its derivatives by them
struct Matrix {
    double at[4][4];
};
static Matrix operator*(const Matrix& a, const Matrix& b) {
    Matrix c;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            double sum = 0;
            for (int k = 0; k < 4; ++k) sum += a.at[i][k] * b.at[k][j];
            c.at[i][j] = sum;
        }
    return c;
}
static Matrix times_rotation(const double* base, const double (&r)[3][3], double keeps_last) {
    Matrix c;
    for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 3; ++j) {
            double sum = 0;
            for (int k = 0; k < 3; ++k) sum += base[4 * i + k] * r[k][j];
            c.at[i][j] = sum;
        }
        c.at[i][3] = keeps_last * base[4 * i + 3];
    }
    return c;
}
// The rotation about an axis by an angle that is its length, and its derivatives.
static void rotation(const double* turn, double (&r)[3][3], double (&dr)[3][3][3]) {
    const double square = turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2], angle = std::sqrt(square);
    std::memset(dr, 0, sizeof dr);
    if (angle < 1e-4) {
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) r[i][j] = i == j;
        return;
    }
    const double c = std::cos(angle), s = std::sin(angle), a[3] = {turn[0] / angle, turn[1] / angle, turn[2] / angle};
    const double cross[3][3] = {{0, -a[2], a[1]}, {a[2], 0, -a[0]}, {-a[1], a[0], 0}};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) r[i][j] = (i == j) * c + a[i] * a[j] * (1 - c) + cross[i][j] * s;
    for (int p = 0; p < 3; ++p) {
        double da[3];
        for (int i = 0; i < 3; ++i) da[i] = ((i == p) - a[i] * a[p]) / angle;
        const double dc = -s * a[p], ds = c * a[p];
        const double dcross[3][3] = {{0, -da[2], da[1]}, {da[2], 0, -da[0]}, {-da[1], da[0], 0}};
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j)
                dr[p][i][j] = (i == j) * dc + (da[i] * a[j] + a[i] * da[j]) * (1 - c) - a[i] * a[j] * dc +
                              dcross[i][j] * s + cross[i][j] * ds;
    }
}
static void gradient(Inputs in, Sizes size, double* out) {
    const long points = size[0], bones = size[1], vertices = size[2], columns = size[3], fingers = (bones - 2) / 4;
    const double *theta = in[0], *relatives = in[1], *inverse = in[2], *skin = in[3], *mirror = in[4], *us = in[6];
    const long *parents = reinterpret_cast<const long*>(in[5]), *corners = reinterpret_cast<const long*>(in[7]);
    static std::vector<Matrix> absolute, by_angle;
    static std::vector<double> moves, moved;
    absolute.resize(bones), by_angle.assign(bones * ANGLES, Matrix{});
    moves.assign(bones * 4 * MOST, 0.0);  // for each bone and each of four coordinates
    const long width = 3 + 3 * ANGLES * fingers;
    for (long b = 0; b < bones; ++b) {
        const long finger = (b - 2) / 4, joint = (b - 2) % 4;
        const bool turns = b >= 2 && joint < 3;
        const double* angle = theta + 6 + ANGLES * finger + (joint > 0 ? joint + 1 : 0);
        const double x = turns ? angle[0] : 0, z = turns && joint == 0 ? angle[1] : 0;
        const double sx = std::sin(x), cx = std::cos(x), sz = std::sin(z), cz = std::cos(z);
        const double r[3][3] = {{cz, -sz * cx, sz * sx}, {sz, cz * cx, -cz * sx}, {0, sx, cx}};
        const Matrix relative = times_rotation(relatives + 16 * b, r, 1.0);
        const bool is_root = parents[b] < 0;
        absolute[b] = is_root ? relative : absolute[parents[b]] * relative;
        Matrix last;
        std::memcpy(&last, inverse + 16 * b, sizeof last);
        double* to = &moves[b * 4 * MOST];
        auto put = [&](const Matrix& m, long at) {
            const Matrix move = m * last;
            for (int i = 0; i < 3; ++i)
                for (int k = 0; k < 4; ++k) to[MOST * k + 3 * at + i] = move.at[i][k];
        };
        put(absolute[b], 0);
        if (b < 2) continue;
        for (long p = 0; p < (joint > 0 ? joint + 1 : 0); ++p) {
            by_angle[b * ANGLES + p] = by_angle[parents[b] * ANGLES + p] * relative;
        }
        if (turns) {
            const double dx[3][3] = {{0, sz * sx, sz * cx}, {0, -cz * sx, -cz * cx}, {0, cx, -sx}};
            const long p = joint > 0 ? joint + 1 : 0;
            by_angle[b * ANGLES + p] = absolute[parents[b]] * times_rotation(relatives + 16 * b, dx, 0.0);
            if (joint == 0) {
                const double dz[3][3] = {{-sz, -cz * cx, cz * sx}, {cz, -sz * cx, sz * sx}, {0, 0, 0}};
                by_angle[b * ANGLES + 1] = absolute[parents[b]] * times_rotation(relatives + 16 * b, dz, 0.0);
            }
        }
        for (long p = 0; p < ANGLES; ++p) put(by_angle[b * ANGLES + p], p + 1);
    }
    moved.resize(vertices * width);
    for (long v = 0; v < vertices; ++v) {
        double sum[3] = {0, 0, 0};
        double* to = &moved[v * width];
        const double* of = skin + 4 * bones * v;
        for (long k = 0; k < 8; ++k)
            for (int i = 0; i < 3; ++i) sum[i] += of[k] * moves[MOST * k + i];
        for (long finger = 0; finger < fingers; ++finger) {
            double all[16] = {};
            for (long k = 8 + 16 * finger; k < 24 + 16 * finger; ++k)
                for (long j = 0; j < MOST; ++j) all[j] += of[k] * moves[MOST * k + j];
            for (int i = 0; i < 3; ++i) sum[i] += all[i];
            std::memcpy(to + 3 + 3 * ANGLES * finger, all + 3, 3 * ANGLES * sizeof(double));
        }
        std::memcpy(to, sum, sizeof sum);
    }
    double r[3][3], dr[3][3][3];
    rotation(theta, r, dr);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            r[i][j] *= mirror[j];
            for (int p = 0; p < 3; ++p) dr[p][i][j] *= mirror[j];
        }
    std::vector<double> mixed(width);
    const long first = columns == 28 ? 2 : 0;
    auto turned = [](const double (&m)[3][3], const double* x, int i) {
        return m[i][0] * x[0] + m[i][1] * x[1] + m[i][2] * x[2];
    };
    for (long o = 0; o < points; ++o) {
        double* row = out + 3 * columns * o;
        const double* at = &moved[corners[first ? 3 * o : o] * width];
        if (first) {
            const double u = us[2 * o], v = us[2 * o + 1], w = 1 - u - v;
            const double *a = at, *b = &moved[corners[3 * o + 1] * width], *c = &moved[corners[3 * o + 2] * width];
            for (long j = 0; j < width; ++j) mixed[j] = u * a[j] + v * b[j] + w * c[j];
            const double by_u[3] = {c[0] - a[0], c[1] - a[1], c[2] - a[2]};
            const double by_v[3] = {c[0] - b[0], c[1] - b[1], c[2] - b[2]};
            for (int i = 0; i < 3; ++i) row[columns * i] = turned(r, by_u, i), row[columns * i + 1] = turned(r, by_v, i);
            at = mixed.data();
        }
        for (int i = 0; i < 3; ++i) {
            double* to = row + columns * i + first;
            for (int p = 0; p < 3; ++p) to[p] = -turned(dr[p], at, i), to[3 + p] = -(i == p);
            for (long p = 0; p < ANGLES * fingers; ++p) to[6 + p] = -turned(r, at + 3 + 3 * p, i);
        }
    }
}
