// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras.metrics.AUC.
#ifndef MPC_LIB_TRAINING_AREAUNDERCURVE_H
#define MPC_LIB_TRAINING_AREAUNDERCURVE_H

#include "lib/Training/Metrics.h"

namespace mpc {

MetricParts areaUnderCurve(MetricInput &input);

} // namespace mpc

#endif // MPC_LIB_TRAINING_AREAUNDERCURVE_H
