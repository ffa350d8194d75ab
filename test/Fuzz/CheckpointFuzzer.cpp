// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checkpoints, whose checksum anybody can compute: it is made right first, so that what it seals is
// reached. What reads such a file goes on with it: callbacks take over their state and end a
// training.
#include "mpc-rt/training.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/data/checksum.h"
#include "runtime/data/crc32c.h"
#include "runtime/data/weights_file.h"
#include "runtime/training/plateau.h"
#include "test/Fuzz/FuzzedSession.h"
#include "test/Fuzz/MemoryFile.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace mpc;
using training::Session;

/// As runtime/data/checksum.cpp finds and computes it.
static void repairChecksum(std::string &bytes) {
  const std::string key = "\"crc32c\":\"";
  const size_t at = bytes.find(key), digits = at + key.size();
  if (at == std::string::npos || digits + 8 > bytes.size())
    return;
  bytes.replace(digits, 8, "00000000");
  char text[9];
  std::snprintf(text, sizeof text, "%08x", data::crc32c(0, bytes.data(), bytes.size()));
  bytes.replace(digits, 8, text);
}

static std::string variablesOf(Session &session) {
  std::string bytes;
  for (uint32_t i = 0; i < session.executable().variable_count; ++i) {
    const data::Array array = session.variableArray(i);
    bytes.append(reinterpret_cast<const char *>(array.data()), array.bytes());
  }
  return bytes;
}

/// An epoch without progress, and the end.
static void finishTraining(Session &session, const training::CallbackState &state) {
  training::EarlyStopOptions stopOptions;
  stopOptions.monitor = "loss";
  stopOptions.restoreBestWeights = true;
  training::EarlyStop stop(stopOptions, &session);
  training::OptimizerState optimizer(session);
  training::ReduceLearningRateOptions reduceOptions;
  reduceOptions.monitor = "loss";
  training::ReduceLearningRate reduce(reduceOptions, optimizer, [](const std::string &) {});
  stop.restore(state);
  reduce.restore(state);
  training::Logs logs = {{"loss", 1e9}};
  std::string reason;
  if (stop.epochEnd(1, logs, reason) && reduce.epochEnd(1, logs, reason))
    (void)static_cast<bool>(stop.trainEnd());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static MemoryFile file;
  static const std::string path = file.path();
  static const std::unique_ptr<Session> session = openFuzzedSession();
  static const checkpoint::RunIdentity identity{8, 100, 0, "once", 1};

  std::string bytes(reinterpret_cast<const char *>(data), size);
  repairChecksum(bytes);
  file.setContent(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());

  const std::string before = variablesOf(*session);
  training::FitState state;
  training::CallbackState callbacks;
  std::vector<std::string> notes;
  if (checkpoint::readCheckpoint(path, *session, identity, state, callbacks, notes))
    finishTraining(*session, callbacks);
  else if (variablesOf(*session) != before || state.globalStep != 0)
    __builtin_trap(); // a refused file has changed something
  (void)static_cast<bool>(checkpoint::readKernels(path, *session));
  (void)static_cast<bool>(data::readWeightsFile(path));
  mpc_rt_context_load(session->context(), path.c_str());
  mpc_rt_context_load_weights(session->context(), path.c_str(), nullptr);
  return 0;
}
