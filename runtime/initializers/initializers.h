// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Initial values of variables, with Keras's distributions (keras/initializers/
// random_initializers.py, constant_initializers.py). The numbers are Philox's, not TensorFlow's.
#ifndef MPC_RUNTIME_INITIALIZERS_INITIALIZERS_H
#define MPC_RUNTIME_INITIALIZERS_INITIALIZERS_H

#include "mpc-rt/executable.h"
#include "mpc-rt/status.h"
#include "runtime/threads/thread_team.h"

namespace mpc::rt {

// Fills `data` (the variable's shape and dtype). A function of seed, stream and the description:
// the team only changes the speed. Between team.begin() and team.end().
mpc_rt_status_t initializeVariable(const mpc_rt_variable_info_t &variable, uint64_t seed,
                                   ThreadTeam &team, void *data);

// One standard normal value per (seed, stream, index, attempt); see distributions.cpp.
double standardNormal(uint64_t seed, uint64_t stream, uint64_t index, uint32_t attempt);
// Elements 4 * block to 4 * block + 3, in [0, 1) with 24 bits.
void standardUniforms(uint64_t seed, uint64_t stream, uint64_t block, float values[4]);

// A rows x columns matrix with orthonormal rows or columns (whichever are fewer), times gain:
// Q of the Householder QR of a normal matrix, columns signed by the diagonal of R (Keras,
// OrthogonalInitializer). Row-major float64.
void fillOrthogonal(double *matrix, int64_t rows, int64_t columns, double gain, uint64_t seed,
                    uint64_t stream, ThreadTeam &team);

// The kernels of an STFTSpectrogram, [frame, 1, bins] (keras/src/initializers/
// constant_initializers.py, STFT), by the same steps in float32. False for another shape or window.
bool fillFourier(const mpc_rt_variable_info_t &variable, float *kernel);

} // namespace mpc::rt

#endif
