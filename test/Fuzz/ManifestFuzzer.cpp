// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The manifest in a library: names of outputs, policies of layers, what `mpc-run inspect` shows.
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/commands/inspect.h"
#include "runtime/data/input_file.h"
#include "test/Fuzz/FuzzedSession.h"
#include "test/Fuzz/MemoryFile.h"

using namespace mpc;

/// Reading one asks whether it is of a model with the same manifest.
static void writeCheckpoint(training::Session &session, MemoryFile &file) {
  const std::string path = "/tmp/mpc-manifest-fuzzer-" + std::to_string(getpid());
  if (!checkpoint::writeCheckpoint(path, session, {8, 100, 0, "once", 1}, {}, {}))
    std::abort();
  data::Result<std::string> bytes = data::readWholeFile(path, UINT64_MAX);
  unlink(path.c_str());
  file.setContent(reinterpret_cast<const uint8_t *>(bytes->data()), bytes->size());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const std::unique_ptr<training::Session> session = openFuzzedSession();
  static MemoryFile file;
  static const std::string path = file.path();
  if (static bool isWritten = false; !isWritten) {
    // Variables that the manifest says nothing about only take time.
    tablesOf(*session).variable_count = tablesOf(*session).metric_count = 0;
    writeCheckpoint(*session, file);
    isWritten = true;
  }
  const std::string manifest(reinterpret_cast<const char *>(data), size);
  tablesOf(*session).manifest = manifest.c_str();
  session->signature(*session->findEntry("train_step"));
  for (bool json : {false, true})
    if (commands::describeModel(*session, {}, /*withKernels=*/false, json).empty())
      __builtin_trap();
  (void)static_cast<bool>(checkpoint::readKernels(path, *session));
  return 0;
}
