// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Diagnosis texts. They tell a forward pass that already gives NaN (scaling cannot help) from
// gradients that overflow.
#include "runtime/scaler/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace mpc::rt {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

// "encoder/dense_1" of "encoder/dense_1/kernel".
std::string layerOf(const char *variable) {
  const char *slash = std::strrchr(variable, '/');
  return slash ? std::string(variable, slash) : std::string(variable);
}

std::string firstNonFinite(const mpc_rt_scaler_step_t &step) {
  if (!step.gradient_finite || !step.gradient_names)
    return "";
  for (uint32_t i = 0; i < step.gradient_count; ++i)
    if (!step.gradient_finite[i] && step.gradient_names[i])
      return "; the first layer whose gradient is not finite is '" +
             layerOf(step.gradient_names[i]) + "' (" + step.gradient_names[i] + ")";
  return "; every weight gradient given is finite";
}

} // namespace

bool ScaleWatcher::observe(const mpc_rt_scaler_step_t &step) {
  ++steps;
  if (!step.finite) {
    ++skips;
    if (++run == 1) {
      scaleBeforeRun = steps == 1 ? 2 * step.scale : lastScale;
      isRunReported = false;
    }
  } else {
    run = 0;
  }
  const bool fails = !step.finite && !std::isfinite(step.loss);
  failedForward = fails ? failedForward + 1 : 0;
  lastScale = step.scale;
  if (diagnoseScale(step) || diagnoseLowScale(step))
    return true;
  const bool isDue = failedForward >= std::min(forwardPatience, patience) || run == patience;
  if (!isDue || isRunReported)
    return false;
  isRunReported = true;
  diagnoseSkips(step);
  return true;
}

bool ScaleWatcher::diagnoseScale(const mpc_rt_scaler_step_t &step) {
  bool lost = step.scale == 0 || !std::isfinite(step.scale);
  bool fresh = lost && !scaleReported;
  scaleReported = lost;
  if (!fresh)
    return false;
  std::string at = "step " + std::to_string(steps) + ": ";
  if (step.scale == 0)
    diagnosis = at +
                "the loss scale has fallen to 0 and cannot recover; every later gradient is "
                "divided by 0" +
                firstNonFinite(step) +
                "; set a floor (dynamic:INITIAL:GROWTH:MIN:MAX), lower the learning rate, or use "
                "mixed_bfloat16, which needs no loss scale";
  else
    diagnosis = at + "the loss scale has grown to " + number(static_cast<double>(step.scale)) +
                " and cannot recover; every later update is 0; set a ceiling "
                "(dynamic:INITIAL:GROWTH:MIN:MAX) or more growth steps";
  return true;
}

bool ScaleWatcher::diagnoseLowScale(const mpc_rt_scaler_step_t &step) {
  // Steps that fail one by one, with good ones between them, lower the scale as surely.
  if (lowReported || !(step.scale < 1) || step.scale == 0)
    return false;
  lowReported = true;
  diagnosis =
      "step " + std::to_string(steps) + ": the loss scale has fallen below 1, after " +
      std::to_string(skips) +
      " skipped steps: gradients overflow float16 although nothing makes them larger" +
      firstNonFinite(step) +
      "; look for samples or activations beyond 65504, compute the layers that have them in "
      "float32 or bfloat16, or set a floor (dynamic:INITIAL:GROWTH:MIN:MAX)";
  return true;
}

void ScaleWatcher::diagnoseSkips(const mpc_rt_scaler_step_t &step) {
  diagnosis = "step " + std::to_string(steps) + ": " + std::to_string(run) +
              " steps in a row were skipped because gradients were not finite; the loss scale "
              "fell from " +
              number(static_cast<double>(scaleBeforeRun)) + " to " +
              number(static_cast<double>(step.scale)) + firstNonFinite(step);
  if (!std::isfinite(step.loss))
    diagnosis += "; the loss itself is " + number(static_cast<double>(step.loss)) +
                 ", so the forward pass fails and loss scaling cannot help: look for bad inputs, a "
                 "learning rate that is too high, or values beyond 65504 in a float16 layer";
  else
    diagnosis += "; the loss is finite, so the backward pass overflows at any scale: compute that "
                 "layer in float32 or bfloat16, or clip its inputs";
}

} // namespace mpc::rt
