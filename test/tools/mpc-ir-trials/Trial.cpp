// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/tools/mpc-ir-trials/Trial.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassRegistry.h"
#include "mpc/InitAll.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstring>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace mpc;

namespace {
/// Keeps the errors of a context from the terminal.
class Errors {
public:
  explicit Errors(MLIRContext &context)
      : handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error && text.empty())
            text = diagnostic.str();
          return success();
        }) {}
  std::string text; // of the first one

private:
  ScopedDiagnosticHandler handler;
};
} // namespace

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, OpPrintingFlags().enableDebugInfo(true));
  return text;
}

namespace {
/// A child says this while it lives.
struct Progress {
  volatile size_t next;    // after the trial that has begun
  volatile size_t length;  // of `what`, after a trial with a finding
  volatile bool isReading; // in the parser
  char what[4096];
};
} // namespace

static Progress *shared = nullptr;

/// MLIR's parser crashes on some text, and verifiers of LLVM's dialect do: for these the tools read
/// IR in a guarded child first. Verifiers of the other dialects are tried.
static OwningOpRef<ModuleOp> parse(MLIRContext &context, const Sample &sample) {
  shared->isReading = true;
  auto module =
      parseSourceString<ModuleOp>(sample.text, ParserConfig(&context, /*verifyAfterParse=*/false));
  shared->isReading = sample.phase == Phase::Module;
  if (module && failed(verify(*module)))
    module = nullptr;
  shared->isReading = false;
  return module;
}

std::vector<Sample> mpc::sampleEachPhase(MLIRContext &context, StringRef file) {
  std::vector<Sample> samples;
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(file, ParserConfig(&context));
  for (uint32_t phase = 0; module && phase <= getMaxEnumValForPhase(); ++phase) {
    PassManager manager(&context);
    addPhase(manager, Phase(phase), PipelineOptions());
    if (failed(manager.run(*module))) {
      llvm::errs() << file << ": fails in phase " << stringifyPhase(Phase(phase)) << "\n";
      return samples;
    }
    samples.push_back({file.str(), Phase(phase), print(*module)});
  }
  return samples;
}

std::string mpc::tryPhases(MLIRContext &context, const Sample &sample) {
  Errors errors(context);
  OwningOpRef<ModuleOp> module = parse(context, sample);
  if (!module)
    return errors.text.empty() ? "the parser fails without an error" : "";
  PassManager verification(&context);
  addVerification(verification, sample.phase);
  if (failed(verification.run(*module)))
    return errors.text.empty() ? "the verifier fails without an error" : "";
  for (uint32_t phase = uint32_t(sample.phase) + 1; phase <= getMaxEnumValForPhase(); ++phase) {
    PassManager manager(&context);
    addPhase(manager, Phase(phase), PipelineOptions());
    if (succeeded(manager.run(*module)))
      continue;
    const std::string name = ("phase " + stringifyPhase(Phase(phase))).str();
    if (errors.text.empty())
      return name + " fails without an error";
    // mpcc calls it an internal error there.
    return Phase(phase) > Phase::Fusion ? name + " fails: " + errors.text : "";
  }
  return "";
}

std::string mpc::tryPass(MLIRContext &context, const Sample &sample, StringRef pass, bool twice) {
  Errors errors(context);
  std::string message;
  llvm::raw_string_ostream stream(message);
  PassManager manager(&context);
  if (failed(parsePassPipeline(pass, manager, stream)))
    return message.empty() && errors.text.empty() ? "a wrong option without a message" : "";
  OwningOpRef<ModuleOp> module = parse(context, sample);
  if (!module)
    return errors.text.empty() ? "the parser fails without an error" : "";
  std::string once;
  for (int run = 0; run < (twice ? 2 : 1); ++run) {
    if (failed(manager.run(*module)))
      return errors.text.empty() ? "fails without an error" : "";
    std::string now = print(*module);
    if (run == 1 && now != once)
      return "changes IR that it made itself";
    once = std::move(now);
  }
  return "";
}

// ---- Child processes ----------------------------------------------------------------------------

[[noreturn]] static void work(Progress &progress, size_t count, unsigned seconds,
                              llvm::function_ref<std::string(MLIRContext &, size_t)> trial) {
  // Enough trials for a context not to count, few enough for its memory not to.
  constexpr size_t kBatch = 256;
  [[maybe_unused]] const rlimit memory = {rlim_t(6) << 30, rlim_t(6) << 30};
  const rlimit none = {0, 0};
#if !__has_feature(address_sanitizer) // whose shadow alone has more address space
  setrlimit(RLIMIT_AS, &memory);
#endif
  setrlimit(RLIMIT_CORE, &none);
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  for (size_t last = std::min(count, progress.next + kBatch); progress.next < last;) {
    const size_t number = progress.next;
    progress.next = number + 1;
    // The limit is processor time: on a busy machine a trial that ends may take far longer.
    const itimerval end = {{0, 0}, {time_t(seconds), 0}};
    ::setitimer(ITIMER_PROF, &end, nullptr);
    const std::string what = trial(context, number);
    if (what.empty())
      continue;
    progress.length = std::min(what.size(), sizeof progress.what);
    std::memcpy(progress.what, what.data(), progress.length);
    ::_exit(2);
  }
  ::_exit(0);
}

std::vector<Finding> mpc::tryEach(size_t count, unsigned seconds,
                                  llvm::function_ref<std::string(MLIRContext &, size_t)> trial) {
  std::vector<Finding> findings;
  void *memory =
      ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return {{0, "no memory"}};
  auto &progress = *static_cast<Progress *>(memory);
  progress.next = 0;
  shared = &progress;
  while (progress.next < count) {
    progress.isReading = false;
    const pid_t child = ::fork();
    if (child == 0)
      work(progress, count, seconds, trial);
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) < 0)
      return {{0, "no process"}};
    llvm::outs() << "tried " << progress.next << " of " << count << ", findings so far "
                 << findings.size() << "\n";
    llvm::outs().flush();
    if ((WIFEXITED(status) && WEXITSTATUS(status) == 0) || progress.isReading)
      continue;
    std::string what = WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF
                           ? "comes to no end"
                           : "crashes with signal " + std::to_string(WTERMSIG(status));
    if (WIFEXITED(status))
      what = WEXITSTATUS(status) == 2
                 ? std::string(progress.what, progress.length)
                 : "ends the process with " + std::to_string(WEXITSTATUS(status));
    findings.push_back({progress.next - 1, what});
  }
  ::munmap(memory, sizeof(Progress));
  return findings;
}
