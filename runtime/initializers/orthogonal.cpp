// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Orthogonal matrices by Householder QR. Columns are contiguous and reflected independently, so the
// result does not depend on the number of threads.
#include "runtime/initializers/initializers.h"

#include <cmath>
#include <vector>

namespace mpc::rt {
namespace {

double dot(const double *a, const double *b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += a[i] * b[i];
  return sum;
}

// x -= 2 v (v . x), v of unit length.
void reflect(const double *v, double *x, int64_t count) {
  double scale = 2.0 * dot(v, x, count);
  for (int64_t i = 0; i < count; ++i)
    x[i] -= scale * v[i];
}

} // namespace

void fillOrthogonal(double *matrix, int64_t rows, int64_t columns, double gain, uint64_t seed,
                    uint64_t stream, ThreadTeam &team) {
  int64_t tall = std::max(rows, columns), narrow = std::min(rows, columns);
  auto size = static_cast<size_t>(tall * narrow);
  // a[j * tall + i]: row i, column j of the tall normal matrix; then the reflectors; q likewise.
  std::vector<double> a(size), q(size, 0.0), signs(static_cast<size_t>(narrow));
  for (int64_t i = 0; i < tall; ++i)
    for (int64_t j = 0; j < narrow; ++j)
      a[static_cast<size_t>(j * tall + i)] =
          standardNormal(seed, stream, static_cast<uint64_t>(i * narrow + j), 0);

  auto column = [tall](std::vector<double> &m, int64_t j) {
    return m.data() + static_cast<size_t>(j * tall);
  };
  for (int64_t j = 0; j < narrow; ++j) {
    double *v = column(a, j) + j;
    int64_t length = tall - j;
    double norm = std::sqrt(dot(v, v, length));
    double diagonal = v[0] > 0 ? -norm : norm; // R's entry; the sign avoids cancellation
    signs[static_cast<size_t>(j)] = diagonal < 0 ? -1.0 : 1.0;
    v[0] -= diagonal;
    double unit = std::sqrt(dot(v, v, length));
    for (int64_t i = 0; unit > 0 && i < length; ++i)
      v[i] /= unit;
    int64_t grain = std::max<int64_t>(1, 8192 / length);
    team.forRange(narrow - j - 1, grain, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c)
        reflect(v, column(a, j + 1 + c) + j, length);
    });
  }
  // The reflectors applied backwards to the identity: column c is untouched by reflectors beyond c.
  team.forRange(narrow, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      column(q, c)[c] = 1.0;
      for (int64_t j = c; j >= 0; --j)
        reflect(column(a, j) + j, column(q, c) + j, tall - j);
    }
  });
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      int64_t i = rows >= columns ? r : c, j = rows >= columns ? c : r;
      matrix[r * columns + c] =
          gain * signs[static_cast<size_t>(j)] * q[static_cast<size_t>(j * tall + i)];
    }
}

} // namespace mpc::rt
