// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random small graphs: derivatives against central differences in double, compiled code against the
// reference interpreter, in float64 and float32. A failure prints the smallest graph that shows it.
//
//   random-graphs [--seed=N] [--first=N] [--count=N] [--work=DIR] [--march=M] [--print]
//
// Graph i of a seed is always the same one, whatever --first and --count are.
#include "mpc/InitAll.h"
#include "test/RandomGraphs/GraphChecks.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"
#include <iostream>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;
namespace cl = llvm::cl;

static cl::opt<uint64_t> seedOption("seed", cl::init(1), cl::desc("of all graphs"));
static cl::opt<int> firstOption("first", cl::init(0), cl::desc("number of the first graph"));
static cl::opt<int> countOption("count", cl::init(500), cl::desc("how many graphs"));
static cl::opt<std::string> workOption("work", cl::init("random-graphs.work"),
                                       cl::desc("folder for compiled models"));
static cl::opt<std::string> marchOption("march", cl::init("native"), cl::desc("as mpcc --march"));
static cl::opt<bool> printOption("print", cl::desc("print the graphs"));

/// Graphs that are compiled together: a compilation costs more than what one graph adds to it.
static const int kPerLibrary = 25;

static uint64_t seedOf(int number) { return seedOption * 0x100000001b3 + uint64_t(number); }

/// The first disagreement of compiled code with the interpreter.
static std::pair<int, std::string> checkCompiled(MLIRContext &context, const Graphs &graphs,
                                                 Tally &tally) {
  const MergedGraphs merged = mergeGraphs(context, graphs);
  const MergedGraphs wide = makeGradients(merged), narrow = makeGradients(inFloat32(merged));
  if (!wide.module || !narrow.module)
    return {0, "@gradients could not be built"};
  const Results expected = interpretGradients(wide), expectedNarrow = interpretGradients(narrow);
  if (expected.empty() || expectedNarrow.empty())
    return {0, "@gradients could not be interpreted"};
  for (bool isNarrow : {false, true}) {
    std::string error;
    // float64 shows what code means, float32 also what LLVM makes of it.
    Results actual = runCompiled(isNarrow ? narrow : wide, workOption, marchOption,
                                 /*optimize=*/isNarrow, error);
    if (!error.empty())
      return {0, error};
    auto [graph, message] = compareResults(graphs, isNarrow ? expectedNarrow : expected, actual,
                                           isNarrow ? &expected : nullptr, tally);
    if (graph >= 0)
      return {graph, (isNarrow ? "in float32: " : "in float64: ") + message};
  }
  return {-1, ""};
}

/// Says what is wrong with one graph; empty when nothing is.
static std::string check(MLIRContext &context, std::unique_ptr<RandomGraph> graph) {
  Tally tally;
  if (std::string message = checkDifferences(*graph, tally); !message.empty())
    return message;
  Graphs one;
  one.push_back(std::move(graph));
  return checkCompiled(context, one, tally).second;
}

/// Prints the graph cut behind the first op whose results show the failure.
static void reportFailure(MLIRContext &context, int number, const std::string &message) {
  std::cerr << "error: graph " << number << " of seed " << seedOption << ": " << message
            << "\nto see it again: random-graphs --seed=" << seedOption << " --first=" << number
            << " --count=1\n";
  const unsigned size = RandomGraph(context, seedOf(number)).size();
  for (unsigned limit = 1; limit <= size; ++limit) {
    auto graph = std::make_unique<RandomGraph>(context, seedOf(number), limit);
    std::string text;
    {
      llvm::raw_string_ostream stream(text);
      graph->getModule()->print(stream);
    }
    std::string why = check(context, std::move(graph));
    if (why.empty())
      continue;
    std::cerr << "the first " << limit << " of " << size << " ops suffice: " << why << "\n"
              << text << "\n";
    return;
  }
  std::cerr << "no graph of its first ops alone shows it; the whole:\n";
  RandomGraph(context, seedOf(number)).getModule()->print(llvm::errs());
  llvm::errs() << "\n";
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "random graphs against differences and interpreter\n");
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  context.loadDialect<MpcDialect, func::FuncDialect>();
  std::cout << "seed " << seedOption << ", graphs " << firstOption << " to "
            << firstOption + countOption - 1 << std::endl;
  std::vector<std::string> missing = opsWithoutMaker(context);
  for (const std::string &name : missing)
    std::cerr << "error: " << name << " is differentiable, but nothing here builds it; add it to a "
              << "table of test/RandomGraphs, or to reasonToLeaveOut with its reason\n";
  int failures = int(missing.size());

  Tally tally;
  std::map<std::string, unsigned> counts;
  for (RegisteredOperationName name : differentiableOps(context))
    counts[name.getStringRef().str()] = 0;
  const int end = firstOption + countOption;
  for (int begin = firstOption; begin < end; begin += kPerLibrary) {
    Graphs graphs;
    std::vector<int> numbers;
    for (int number = begin; number < std::min(begin + kPerLibrary, end); ++number) {
      auto graph = std::make_unique<RandomGraph>(context, seedOf(number));
      for (const auto &[name, count] : graph->counts())
        counts[name] += count;
      if (printOption)
        graph->getModule()->print(llvm::outs());
      std::string message = checkDifferences(*graph, tally);
      if (!message.empty()) {
        reportFailure(context, number, message);
        ++failures;
        continue;
      }
      numbers.push_back(number);
      graphs.push_back(std::move(graph));
    }
    if (graphs.empty())
      continue;
    auto [graph, message] = checkCompiled(context, graphs, tally);
    if (graph < 0)
      continue;
    ++failures;
    // An error of all of them: find whose it is.
    int culprit = numbers[graph];
    if (graph == 0)
      for (int number : numbers)
        if (!check(context, std::make_unique<RandomGraph>(context, seedOf(number))).empty()) {
          culprit = number;
          break;
        }
    reportFailure(context, culprit, message);
  }

  std::cout << tally.differences << " derivatives agree with differences, " << tally.kinks
            << " stand at kinks; " << tally.compiled << " compiled numbers compared\n";
  for (const auto &[name, count] : counts) {
    std::cout << "  " << name << " " << count << "\n";
    if (count == 0 && countOption >= 250) {
      std::cerr << "error: no graph has " << name << "\n";
      ++failures;
    }
  }
  // Values are kept away from kinks: more than a few would mean that failures hide among them.
  if (tally.kinks * 200 > tally.differences) {
    std::cerr << "error: too many places without a derivative\n";
    ++failures;
  }
  std::cout << failures << " failures\n";
  std::cout << "ran " << countOption << " tests" << std::endl;
  return failures ? 1 : 0;
}
