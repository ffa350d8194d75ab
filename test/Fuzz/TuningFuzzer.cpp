// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files of mpc-run tune. Inputs that do not begin an object are the list of kernels in a file of
// this model and machine, so that it is reached. A refused file leaves all choices as they were.
#include "mpc-rt/tuning.h"
#include "runtime/data/input_file.h"
#include "runtime/training/tuning.h"
#include "test/Fuzz/FuzzedSession.h"
#include "test/Fuzz/MemoryFile.h"

#include <filesystem>
#include <unistd.h>

using namespace mpc;
using training::Session;

/// A whole file without a kernel.
static std::string emptyFile(Session &session) {
  std::string path = std::filesystem::temp_directory_path() / "TuningFuzzer-XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0 || !training::writeTuning(path, session, /*batchSize=*/8, /*kernels=*/""))
    std::abort();
  data::Result<std::string> text = data::readWholeFile(path, UINT64_MAX);
  close(file);
  unlink(path.c_str());
  if (!text)
    std::abort();
  return *text;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static MemoryFile file;
  static const training::TuningOptions options{training::TuningOptions::Way::file, file.path()};
  static const std::unique_ptr<Session> session = openFuzzedSession();
  static const std::string empty = emptyFile(*session);

  std::string bytes(reinterpret_cast<const char *>(data), size);
  if (bytes.empty() || bytes[0] != '{') {
    const std::string list = "[]";
    std::string whole = empty;
    bytes = whole.replace(whole.find(list), list.size(), bytes);
  }
  file.setContent(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  const std::string before = mpc_rt_context_kernel_choices(session->context());
  std::vector<std::string> notes;
  if (!training::applyTuning(options, *session, notes) &&
      mpc_rt_context_kernel_choices(session->context()) != before)
    __builtin_trap(); // a refused file has changed something
  return 0;
}
