// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ModelRunner: compiles a model under a policy map and runs it by mpc-run, in a process of its own.
#ifndef MPC_TOOLS_MPCC_SEARCH_MODELRUNNER_H
#define MPC_TOOLS_MPCC_SEARCH_MODELRUNNER_H

#include "mpc/Driver/Compile.h"
#include "tools/mpcc/search/Measurement.h"
#include "tools/mpcc/search/TemporaryFolder.h"

namespace mpc {

class ModelRunner {
public:
  ModelRunner(const CompileOptions &options, const SearchOptions &search, bool trains,
              bool hasWeights)
      : options(options), search(search), trains(trains), hasWeights(hasWeights) {}

  /// Looks for mpc-run beside mpcc, else in PATH, and makes the folder for what is compiled.
  llvm::Error prepare();
  /// Writes a policy map where it stays until the next one; its path.
  llvm::Expected<std::string> writeMap(const std::string &policyMap) const;
  /// Evaluates the data, with the model's weights and after steps of training, and times steps
  /// where the search asks for it. An empty error says that messages were printed.
  llvm::Expected<Measurement> measure(const std::string &policyMap);
  /// By layer path, how much the roundings of a policy move the loss, or the outputs where nothing
  /// is trained. Layers whose values overflow have the largest number.
  llvm::Expected<std::map<std::string, double>> measureSensitivities(const std::string &policyMap);

private:
  llvm::Error compile(const std::string &policyMap, bool numerics);
  llvm::Expected<std::string> run(std::vector<std::string> arguments);
  llvm::Expected<double> measureStepTime();
  llvm::Expected<MeasuredStage> measureStage(const std::string &when, const std::string &weights);
  bool needs(bool outputs) const;

  const CompileOptions &options;
  const SearchOptions &search;
  bool trains, hasWeights;
  std::string mpcRun;
  TemporaryFolder folder;
};

/// The messages are printed already.
class PrintedError : public llvm::ErrorInfo<PrintedError> {
public:
  static char ID;
  explicit PrintedError(ExitCode code) : code(code) {}
  void log(llvm::raw_ostream &os) const override { os << "see above"; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
  ExitCode code;
};

} // namespace mpc

#endif // MPC_TOOLS_MPCC_SEARCH_MODELRUNNER_H
