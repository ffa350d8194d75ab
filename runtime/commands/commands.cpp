// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of commands, their help, and the choice among them.
#include "runtime/commands/commands.h"

#include "mpc-rt/model.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace mpc::commands {

static std::vector<Option> with(std::vector<Option> options, const std::vector<Option> &more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

static std::vector<Command> makeTable() {
  const Option verify = {"verify", Takes::Nothing, "",
                         "compare NAME.safetensors beside LIB with the hash that mpcc wrote"};
  const std::vector<Option> machine = {
      {"device", Takes::Value, "cpu|cuda:N", "where to run (default cpu)"},
      {"threads", Takes::Value, "N", "CPU threads (default: all)"},
      {"deterministic", Takes::Nothing, "",
       "the same bytes on every run (always so, unless kernels are measured)"},
      verify,
      {"help", Takes::Nothing, "", "this text"}};
  // One thread for each of several contexts.
  std::vector<Option> servingMachine = machine;
  servingMachine[1].help = "CPU threads of each context (default 1)";
  const std::vector<Option> weights = {
      {"weights", Takes::Value, "W.safetensors", "weights to use instead of those beside LIB"},
      {"seed", Takes::Value, "S", "seed of random layers and of shuffling (default 0)"}};
  const std::vector<Option> json = {{"json", Takes::Nothing, "", "the result as JSON on stdout"}};
  const Option tuning = {"tune", Takes::OptionalValue, "off|FILE",
                         "measure which kernels are faster, or take those of mpc-run tune"};
  const Option batch = {"batch-size", Takes::Value, "N", "rows per step (default 32)"};
  return {
      {"predict", "LIB --inputs X.npz --outputs OUT.npz [options]", "inference",
       "mpc-run predict model.mpc --inputs x.npz --outputs out.npz",
       with(with({{"inputs", Takes::Value, "D", "data with the model's inputs"},
                  {"outputs", Takes::Value, "OUT.npz",
                   "file for out0, out1, ...; .npy, .csv, or - for a CSV on stdout"},
                  batch,
                  tuning},
                 weights),
            machine),
       predict},
      {"evaluate", "LIB --data D [options]", "loss and metrics",
       "mpc-run evaluate model.mpc --data test.npz --batch-size 256",
       with(with(with({{"data", Takes::Value, "D", "data with inputs and targets"}, batch, tuning},
                      json),
                 weights),
            machine),
       evaluate},
      {"train", "LIB --data D --epochs N --batch-size B [options]", "training",
       "mpc-run train model.mpc --data train.npz --epochs 5 --batch-size 128 --save "
       "trained.safetensors",
       with(with({{"data", Takes::Value, "D", "training data"},
                  {"epochs", Takes::Value, "N", "passes over the data (default 1)"},
                  batch,
                  {"validation-data", Takes::Value, "D", "data to evaluate after each epoch"},
                  {"validation-split", Takes::Value, "F", "or this last fraction of the data"},
                  {"shuffle", Takes::Value, "on|off", "rows in random order (default on)"},
                  {"steps", Takes::Value, "N", "stop after N steps, whatever the epochs"},
                  {"deterministic-ranks", Takes::Value, "M",
                   "sum each batch in M parts: the same bytes on 1, 2, 4 ... M ranks"},
                  {"initialize", Takes::OptionalValue, "SEED",
                   "start from the initializers, not from stored weights"},
                  {"save", Takes::Value, "W.safetensors", "file for the trained variables"},
                  {"checkpoint", Takes::Value, "DIR", "folder for checkpoints"},
                  {"save-freq", Takes::Value, "epoch|N", "each epoch (default) or every N steps"},
                  {"keep", Takes::Value, "K", "checkpoints to keep (default 2)"},
                  {"resume", Takes::Value, "DIR", "go on from the newest checkpoint there"},
                  {"csv-log", Takes::Value, "F",
                   "one line of metrics per epoch, as Keras's CSVLogger"},
                  {"json-log", Takes::Value, "F", "one JSON object per epoch"},
                  {"tensorboard", Takes::Value, "DIR", "event files for TensorBoard"},
                  {"trace", Takes::Value, "T.npz", "every step's loss, metrics and loss scale"},
                  {"trace-events", Takes::Value, "T.json",
                   "a timeline of steps and messages, for Perfetto"},
                  {"numerics", Takes::Value, "DIR",
                   "statistics of the values, one file per step that is looked at"},
                  {"numerics-every", Takes::Value, "N", "every N steps (default 100)"},
                  {"numerics-errors", Takes::Nothing, "",
                   "compare with the same step in float32; takes ten times as long"},
                  {"numerics-dump", Takes::Nothing, "", "also write the values themselves (.npz)"},
                  {"html", Takes::Value, "R.html", "page about the statistics, at the end"},
                  {"early-stop", Takes::Value, "monitor=M,patience=N",
                   "stop when M does not get better; also min_delta=, mode=min|max, baseline=, "
                   "start_from_epoch=, restore_best_weights=true"},
                  {"reduce-lr", Takes::Value, "monitor=M,factor=F,patience=N",
                   "lower the learning rate; also min_delta=, mode=, cooldown=, min_lr="},
                  {"terminate-on-nan", Takes::Nothing, "", "stop when the loss is NaN or infinite"},
                  {"class-weight", Takes::Value, "F", "JSON object: class index to weight"},
                  tuning,
                  {"memory", Takes::Nothing, "", "say what memory is planned, and the peak"}},
                 with(json, weights)),
            machine),
       train},
      {"gradients", "LIB --data D.npz --outputs G.npz",
       "loss and gradients of one batch of all rows",
       "mpc-run gradients model.mpc --data batch.npz --outputs g.npz",
       with(with({{"data", Takes::Value, "D", "data with inputs and targets"},
                  {"outputs", Takes::Value, "G.npz",
                   "file for loss, grad:*, gradx:*, out*, after:*"}},
                 weights),
            machine),
       gradients},
      {"bench", "LIB [--batch-size B] [--steps N] [--train|--predict] [--serve] [--json]",
       "step times on random data", "mpc-run bench model.mpc --train --batch-size 256 --steps 50",
       with(with(with({batch,
                       {"steps", Takes::Value, "N", "steps to measure (default 20)"},
                       {"warmup", Takes::Value, "N", "steps before (default 3)"},
                       {"train", Takes::Nothing, "", "training steps (default if LIB can train)"},
                       {"predict", Takes::Nothing, "", "inference"},
                       {"serve", Takes::Nothing, "", "take `go N` and `quit` from stdin"},
                       {"data", Takes::Value, "D", "rows to use instead of random ones"},
                       tuning,
                       {"kernels", Takes::Nothing, "", "say which kernel computed what"},
                       {"memory", Takes::Nothing, "", "say what the planned memory is for"}},
                      json),
                 weights),
            machine),
       bench},
      {"tune", "LIB --out FILE [--batch-size B] [options]",
       "measures the fastest kernels, for other runs and machines of this kind",
       "mpc-run tune model.mpc --batch-size 256 --out tuning.json",
       with({{"out", Takes::Value, "FILE", "JSON file for --tune=FILE of other commands"},
             batch,
             {"data", Takes::Value, "D", "rows to use instead of random ones"},
             machine.front(), // the device
             {"threads", Takes::Value, "N", "CPU threads (default: all)"},
             verify},
            with(weights, {{"help", Takes::Nothing, "", "this text"}})),
       tune},
      {"compare", "A B --data D [--steps N] [options]",
       "two compiled forms of a model, layer by layer",
       "mpc-run compare traced.mpc mixed.mpc --data train.npz --steps 20 --out r.json",
       with(with(with({{"data", Takes::Value, "D", "data with inputs and targets"},
                       batch,
                       {"steps", Takes::Value, "N", "also train both N steps"},
                       {"out", Takes::Value, "R.json", "file for the comparison"},
                       {"html", Takes::Value, "R.html", "page about it"}},
                      json),
                 weights),
            machine),
       compare},
      {"numerics", "LIB --data D [--blame] [options]",
       "ranges, underflow and errors of each value, or the first one at fault",
       "mpc-run numerics traced.mpc --data train.npz --blame",
       with(with(with({{"data", Takes::Value, "D", "data with inputs and targets"},
                       {"steps", Takes::Value, "N", "steps to look at (default: all rows once)"},
                       batch,
                       {"predict", Takes::Nothing, "", "inference, also where LIB can train"},
                       {"blame", Takes::Nothing, "",
                        "the first value that overflowed, was divided by zero or was lost"},
                       {"out", Takes::Value, "R.json", "file for the statistics"},
                       {"html", Takes::Value, "R.html", "page about them"},
                       {"dump", Takes::Value, "V.npz",
                        "the elements of the last step's values, slot0, slot1, ..."}},
                      json),
                 weights),
            machine),
       numerics},
      {"serve", "LIB [--port N] [options]",
       "inference over HTTP (Open Inference Protocol, version 2)",
       "mpc-run serve model.mpc --port 8000 --max-delay 2",
       with(
           with({{"port", Takes::Value, "N", "port to listen on; 0 is any free one (default 8000)"},
                 {"host", Takes::Value, "H", "address to listen on (default 127.0.0.1)"},
                 {"batch-size", Takes::Value, "N",
                  "rows of a run, and of a request, at most (default 64)"},
                 {"max-delay", Takes::Value, "MS",
                  "milliseconds a request waits for others to join its run (default 1)"},
                 {"queue", Takes::Value, "N", "requests that may wait; then 503 (default 256)"},
                 {"contexts", Takes::Value, "N",
                  "runs at the same time (default: CPUs divided by --threads)"},
                 {"max-connections", Takes::Value, "N", "open connections (default 256)"},
                 {"max-body", Takes::Value, "MIB", "MiB of a request's body (default 64)"},
                 {"timeout", Takes::Value, "S",
                  "seconds for a request's body, and for the reply (default 30)"},
                 {"idle-timeout", Takes::Value, "S",
                  "seconds until the next request of a connection (default 60)"},
                 {"grace", Takes::Value, "S",
                  "seconds to finish requests after SIGTERM or SIGINT (default 30)"},
                 tuning},
                weights),
           servingMachine),
       serve},
      {"devices", "[--json]", "what this machine can run and what each policy gains",
       "mpc-run devices --json", with(json, {{"help", Takes::Nothing, "", "this text"}}), devices},
      {"inspect", "LIB [--kernels] [--json]", "what a compiled model is made of",
       "mpc-run inspect model.mpc --kernels --batch-size 128",
       with({{"kernels", Takes::Nothing, "", "which kernels would compute it here"},
             {"batch-size", Takes::Value, "N", "in batches of N (default 32)"},
             {"resume", Takes::Value, "DIR", "as the newest checkpoint there measured (--tune)"},
             {"tune", Takes::OptionalValue, "FILE", "as mpc-run tune measured"},
             {"threads", Takes::Value, "N", "CPU threads (default: all)"},
             verify},
            with(json, {{"help", Takes::Nothing, "", "this text"}})),
       inspect},
  };
}

const std::vector<Command> &commandTable() {
  static const std::vector<Command> table = makeTable();
  return table;
}

static std::string help(const Command &command) {
  std::string text = std::string("mpc-run ") + command.name + ": " + command.summary +
                     "\n\nusage: mpc-run " + command.name + " " + command.synopsis +
                     "\n\noptions:\n";
  for (const Option &option : command.options) {
    std::string left = std::string("  --") + option.name;
    if (option.takes == Takes::Value)
      left += std::string(" ") + option.value;
    if (option.takes == Takes::OptionalValue)
      left += std::string("[=") + option.value + "]";
    left.append(left.size() < 33 ? 34 - left.size() : 2, ' ');
    text += left + option.help + "\n";
  }
  text += std::string("\nexample:\n  ") + command.example + "\n";
  const bool readsData =
      std::any_of(command.options.begin(), command.options.end(),
                  [](const Option &option) { return std::strcmp(option.value, "D") == 0; });
  if (!readsData)
    return text;
  return text +
         "\ndata D: an .npz or a folder of .npy files (the model's input names or x0, x1, ..; "
         "targets y0, y1, ..\nor the outputs' names; optionally sample_weight), a .npy of the only "
         "input, a CSV with a header,\nor a folder of MNIST's IDX files. - is a CSV or a .npy on "
         "standard input.\n";
}

static std::string overview() {
  std::string text = "mpc-run: run a model that mpcc compiled\n\nusage: mpc-run COMMAND ...\n\n";
  for (const Command &command : commandTable()) {
    std::string name = std::string("  ") + command.name;
    name.append(13 - name.size(), ' ');
    text += name + command.summary + "\n";
  }
  return text +
         "\n`mpc-run COMMAND --help` lists a command's options.\nexit codes: 0 done, 1 the "
         "input is wrong, 2 usage, 3 internal error, 130/143 after a signal\n\nexample:\n  " +
         commandTable()[2].example + "\n";
}

/// Whether the machine has it is not a question to the command line.
static bool isDeviceName(const std::string &name) {
  const std::string prefix = "cuda:";
  return name == "cpu" || name == "cuda" || name == "null" ||
         (name.size() > prefix.size() && name.compare(0, prefix.size(), prefix) == 0 &&
          name.find_first_not_of("0123456789", prefix.size()) == std::string::npos);
}

training::TuningOptions tuningOptions(const Arguments &arguments) {
  using Way = training::TuningOptions::Way;
  const std::string value = arguments.text("tune");
  if (!arguments.has("tune"))
    return {};
  return value.empty()    ? training::TuningOptions{Way::measure, ""}
         : value == "off" ? training::TuningOptions{Way::off, ""}
                          : training::TuningOptions{Way::file, value};
}

training::SessionOptions sessionOptions(Arguments &arguments, size_t libraries) {
  training::SessionOptions options;
  if (libraries == 1)
    arguments.requirePositional(1, "LIB (libNAME.so, its folder, or an archive)");
  if (!arguments.positional().empty())
    options.library = arguments.positional()[0];
  options.device = arguments.text("device", "cpu");
  if (!isDeviceName(options.device))
    arguments.fault("--device is '" + options.device + "'; expected cpu or cuda:N");
  options.threads = static_cast<uint32_t>(arguments.integer("threads", 0, 1, 4096));
  options.seed = arguments.seed("seed", 0);
  options.weights = arguments.text("weights");
  options.verify = arguments.has("verify");
  options.tuning = tuningOptions(arguments);
  return options;
}

static int runWords(int count, const char *const *words, Console &console) {
  std::string name = count > 1 ? words[1] : "";
  if (name == "--help" || name == "-h" || name == "help")
    return console.table(overview());
  if (name == "--version")
    return console.table(std::string("mpc-run ") + mpc_rt_version() + "\n");
  for (const Command &command : commandTable()) {
    if (name != command.name)
      continue;
    Arguments arguments(command.options, count - 2, words + 2);
    if (arguments.has("help"))
      return console.table(help(command));
    return command.run(arguments, console);
  }
  std::string names;
  for (const Command &command : commandTable())
    names += (names.empty() ? "" : ", ") + std::string(command.name);
  return console.usage("mpc-run",
                       {(name.empty() ? "a command is missing" : "unknown command '" + name + "'") +
                        "; expected one of: " + names + "; --help explains them"});
}

int runCommandLine(int count, const char *const *words, Console &console) {
  const char *name = count > 1 ? words[1] : "";
  try {
    return runWords(count, words, console);
  } catch (const std::bad_alloc &problem) {
    return console.failWithoutMemory(problem);
  } catch (const std::exception &exception) {
    data::Failure failure(std::string("mpc-run ") + name + ": " + exception.what() +
                          "; please report it with this command line and its files");
    failure.internal = true;
    return console.fail(failure);
  }
}

} // namespace mpc::commands
