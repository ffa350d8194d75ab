// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments: the command line of one mpc-run command, checked against its table of options.
#ifndef MPC_RUNTIME_COMMANDS_ARGUMENTS_H
#define MPC_RUNTIME_COMMANDS_ARGUMENTS_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mpc::commands {

enum class Takes { Nothing, Value, OptionalValue };

/// One row of a command's options; `--help` prints them in this order.
struct Option {
  const char *name; // without the dashes
  Takes takes;
  const char *value; // how help calls the value
  const char *help;
};

/// Accepts `--name value` and `--name=value`; the last of several wins. Faults are collected: after
/// all options were read, errors() says whether the command line can be used.
class Arguments {
public:
  Arguments(const std::vector<Option> &options, int count, const char *const *words);

  const std::vector<std::string> &positional() const { return positional_; }
  bool has(const std::string &name) const { return values_.count(name) != 0; }
  std::string text(const std::string &name, const std::string &otherwise = "") const;
  /// Exactly one of the choices; the first is the default.
  std::string choice(const std::string &name, const std::vector<std::string> &choices);
  int64_t integer(const std::string &name, int64_t otherwise, int64_t low, int64_t high);
  /// A 64-bit seed, decimal.
  uint64_t seed(const std::string &name, uint64_t otherwise);
  double real(const std::string &name, double otherwise, double low, double high);
  /// `key=value,key=value`; unknown keys are faults.
  std::map<std::string, std::string> pairs(const std::string &name,
                                           const std::vector<std::string> &keys);
  /// Adds a fault unless the option was given.
  void require(const std::string &name, const char *value);
  /// Adds a fault unless there are exactly `count` positional arguments, described by `what`.
  void requirePositional(size_t count, const char *what);
  /// Adds a fault where the option is "-", which would be the name of `what` (a file, a folder).
  void requirePath(const std::string &name, const char *what);
  /// Adds a fault where the option is "-" or names a file with another suffix than `suffixes`: the
  /// content would not be what it says. Names without one, and devices, may be anything.
  void requireSuffix(const std::string &name, const std::vector<std::string> &suffixes);
  /// Adds a fault for each of `outputs` that names the same regular file as another one, as one of
  /// `inputs` or as one that mpcc wrote of the model (the first positional argument): one of the
  /// two would be lost. `mayReplace` is an output and the input that it may replace; it may
  /// replace the model's weights, too.
  void requireDistinct(const std::vector<std::string> &outputs,
                       const std::vector<std::string> &inputs,
                       const std::pair<std::string, std::string> &mayReplace = {});
  void fault(std::string message) { errors_.push_back(std::move(message)); }
  const std::vector<std::string> &errors() const { return errors_; }

private:
  std::vector<std::string> positional_, errors_;
  std::map<std::string, std::string> values_;
};

/// A decimal integer or number that fills the whole text, whatever the locale.
std::optional<int64_t> parseInteger(const std::string &text);
std::optional<double> parseReal(const std::string &text);

} // namespace mpc::commands
#endif
