// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcc as a library: a model file to a compiled folder.
#ifndef MPC_DRIVER_COMPILE_H
#define MPC_DRIVER_COMPILE_H

#include "mpc/Codegen/CUDA/Target.h"
#include "mpc/Pipelines/Phases.h"
#include "mpc/Support/WeightStore.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mpc {

enum class Mode { Auto, Train, Infer };
/// Each but Json prints what the one before it does, and more.
enum class Explain { Off, Layers, Ops, Passes, Json };

/// The extent "?" in a shape of `--input-shape`: the batch of an ONNX model.
inline constexpr int64_t kOpenExtent = std::numeric_limits<int64_t>::min();

/// Extents of inputs, all or those behind the batch, by input; empty name: the only input.
using InputShapes = std::map<std::string, llvm::SmallVector<int64_t>>;

/// The hazards of precision (docs/lint.md) that are told, as `--lint` asks for it.
struct LintChoice {
  bool isOn = false;              ///< else those alone that are told always
  bool isError = false;           ///< a finding ends the compilation
  std::set<std::string> silenced; ///< names of rules
  std::string page;               ///< a file for a page about them; empty: none
};

/// The options of mpcc (docs/tools.md), checked for spelling but not for meaning.
struct CompileOptions {
  std::string model;
  std::string output; // a folder, or the file of an archive; empty: NAME.mpc
  std::string name;   // empty: the file's stem as a C identifier
  PipelineOptions pipeline;
  Mode mode = Mode::Auto;
  /// Keras names or JSON files that replace parts of the file's compile config.
  std::string loss, optimizer, metrics;
  std::optional<double> learningRate;
  /// Patterns of whole paths of variables: those that train, and no others; those that do not.
  /// Empty: as the file says.
  std::string trainable, frozen;
  /// Samples of every call; none: any number.
  std::optional<int64_t> batch;
  /// `--batch=first`: any number, and arrays have them first where the file has not.
  bool batchFirst = false;
  /// The extents that the file leaves open.
  InputShapes inputShapes;
  /// Code points of texts of ONNX inputs, by name (empty: of all others).
  std::map<std::string, int64_t> textWidths;
  /// Further shapes of the inputs, each with an entry of its own (docs/decisions/0092).
  std::vector<InputShapes> moreInputShapes;
  /// Start from initializers with this seed instead of the file's weights.
  std::optional<uint64_t> initialize;
  /// Reads a safetensors file: values that travel beside a model that is IR. Given by the tool, for
  /// the library that reads such files is the runtime's.
  std::function<llvm::Expected<WeightStore>(const std::string &path)> readWeights;
  std::string march = "portable";
  /// `-O0` where not: EmitOptions::optimize.
  bool optimize = true;
  /// `--target=`, as it was given; pipeline.device and `cuda` say the same.
  std::string target = "cpu";
  std::optional<CudaTarget> cuda;
  /// `--emit=cuda`: print the kernels instead of writing a library.
  bool emitCuda = false;
  /// `--emit=archive`: all in one file.
  bool emitArchive = false;
  /// `--link=static`: a library for programs that have the model in them.
  bool linkStatic = false;
  /// `--deterministic-ranks=M`: parts of a batch that any number of ranks computes; 0: none.
  uint32_t batchParts = 0;
  /// `--shard=optimizer[:FILE]`: each rank updates a part of the variables, or of those that a
  /// layout map names; empty: all of them.
  std::string shard;
  std::string compilerVersion;
  std::optional<Phase> compileTo, compileFrom;
  Explain explain = Explain::Off;
  LintChoice lint;
  bool embedWeights = false;
  bool quiet = false, verbose = false;
  bool color = false;
  /// Where compiled functions are kept; empty: nowhere.
  std::string cacheFolder;
  /// By layer path, why it has its policy, where a search says so: for `--explain`.
  std::map<std::string, std::string> policyReasons;
  /// Names and contents of files that belong beside the library.
  std::vector<std::pair<std::string, std::string>> extraFiles;
  /// Shows how far a long compilation is, in a line of stderr that is rewritten.
  bool progress = false;
};

/// Exit codes of all tools.
enum ExitCode { kExitDone = 0, kExitBadInput = 1, kExitUsage = 2, kExitInternal = 3 };

/// Compiles; messages go to stderr, `--explain` and textual IR without an output folder to stdout.
/// Nothing is written unless everything succeeds.
ExitCode compileModel(const CompileOptions &options);

} // namespace mpc

#endif // MPC_DRIVER_COMPILE_H
