// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes and pipelines on IR that they do not expect, many trials in a process. From files with IR
// of the phase import it makes that of each later phase, and then, in `matrix` mode, gives each to
// every pass, with wrong options too, or, in `mutants` mode, changes it at random.
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mpc/InitAll.h"
#include "test/tools/mpc-ir-trials/Mutator.h"
#include "test/tools/mpc-ir-trials/Trial.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mpc;

static llvm::cl::list<std::string> files(llvm::cl::Positional, llvm::cl::desc("FILES"));
static llvm::cl::list<std::string> passes("passes", llvm::cl::CommaSeparated,
                                          llvm::cl::desc("pipelines for the matrix"));
static llvm::cl::opt<bool> listPasses("registry", llvm::cl::desc("print the registered passes"));
static llvm::cl::opt<unsigned> mutants("mutants", llvm::cl::init(0),
                                       llvm::cl::desc("how many mutants to try"));
static llvm::cl::opt<unsigned> first("first", llvm::cl::init(0),
                                     llvm::cl::desc("number of the first mutant"));
static llvm::cl::opt<unsigned> seconds("seconds", llvm::cl::init(20),
                                       llvm::cl::desc("of the processor, for a trial"));
static llvm::cl::opt<std::string> directory("findings", llvm::cl::init(""),
                                            llvm::cl::desc("folder for IR with a finding"));

namespace {
class Tool {
public:
  int run() {
    DialectRegistry registry;
    registerAllDialects(registry);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    samples.push_back({"empty", Phase::Import, "module {}\n"});
    samples.push_back({"declaration", Phase::Import,
                       "func.func private @forward(tensor<?x8xf32>) -> tensor<?x8xf32>\n"
                       "func.func private @train_step(tensor<?x8xf32>) -> tensor<?x8xf32> "
                       "attributes {mpc.entry}\n"});
    for (const std::string &file : files) {
      std::vector<Sample> more = sampleEachPhase(context, file);
      if (more.size() <= getMaxEnumValForPhase())
        return 1;
      llvm::append_range(samples, more);
    }
    return mutants ? tryMutants() : tryMatrix();
  }

private:
  int report(size_t count, const std::vector<Finding> &findings,
             llvm::function_ref<Sample(size_t)> sampleOf,
             llvm::function_ref<std::string(size_t)> nameOf) {
    for (const Finding &finding : findings) {
      llvm::outs() << "finding: " << nameOf(finding.number) << ": " << finding.what << "\n";
      if (directory.empty())
        continue;
      llvm::SmallString<128> path(directory);
      llvm::sys::path::append(path, std::to_string(finding.number) + ".mlir");
      std::error_code error;
      llvm::raw_fd_ostream stream(path, error);
      if (!error)
        stream << sampleOf(finding.number).text;
    }
    llvm::outs() << "tried " << count << ", " << findings.size() << " findings\n";
    return findings.empty() ? 0 : 3;
  }

  Sample mutant(size_t number) {
    Sample sample = samples[number % samples.size()];
    sample.text = mutate(sample.text, number);
    return sample;
  }

  static std::string describe(const Sample &sample) {
    return sample.name + " (" + stringifyPhase(sample.phase).str() + ")";
  }

  int tryMutants() {
    auto passOf = [](size_t number) {
      return number % 4 == 3 && !passes.empty() ? passes[number / 4 % passes.size()] : "";
    };
    auto findings = tryEach(mutants, seconds, [&](MLIRContext &context, size_t number) {
      const Sample sample = mutant(first + number);
      const std::string pass = passOf(first + number);
      return pass.empty() ? tryPhases(context, sample)
                          : tryPass(context, sample, pass, /*twice=*/false);
    });
    for (Finding &finding : findings)
      finding.number += first;
    return report(
        mutants, findings, [&](size_t number) { return mutant(number); },
        [&](size_t number) {
          const std::string pass = passOf(number);
          return std::to_string(number) + " " + describe(samples[number % samples.size()]) +
                 (pass.empty() ? "" : " --" + pass);
        });
  }

  int tryMatrix() {
    const size_t count = passes.size() * samples.size();
    auto sampleOf = [&](size_t number) { return samples[number / passes.size()]; };
    auto passOf = [&](size_t number) { return passes[number % passes.size()]; };
    return report(count,
                  tryEach(count, seconds,
                          [&](MLIRContext &context, size_t number) {
                            return tryPass(context, sampleOf(number), passOf(number),
                                           /*twice=*/true);
                          }),
                  sampleOf, [&](size_t number) {
                    return passOf(number) + " on " + describe(sampleOf(number));
                  });
  }

  std::vector<Sample> samples;
};
} // namespace

int main(int argc, char **argv) {
  mpc::registerAllPasses();
  llvm::cl::ParseCommandLineOptions(argc, argv, "trials of passes on IR\n");
  if (listPasses) {
    printRegisteredPasses();
    return 0;
  }
  return Tool().run();
}
