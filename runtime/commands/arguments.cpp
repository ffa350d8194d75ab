// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Command line parsing.
#include "runtime/commands/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <dirent.h>
#include <filesystem>
#include <memory>
#include <set>

namespace mpc::commands {

/// Edit distance of two short words (Levenshtein), for suggestions.
static size_t distance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

static std::string suggestion(const std::string &name, const std::vector<Option> &options) {
  size_t best = 3;
  const char *nearest = nullptr;
  for (const Option &option : options)
    if (size_t d = distance(name, option.name); d < best) {
      best = d;
      nearest = option.name;
    }
  return nearest ? std::string("; did you mean --") + nearest + "?" : "; --help lists the options";
}

Arguments::Arguments(const std::vector<Option> &options, int count, const char *const *words) {
  bool onlyPositional = false;
  for (int i = 0; i < count; ++i) {
    std::string word = words[i];
    if (onlyPositional || word.size() < 2 || word[0] != '-') {
      positional_.push_back(word);
      continue;
    }
    if (word == "--") {
      onlyPositional = true;
      continue;
    }
    size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    if (name == "-h")
      name = word = "--help";
    name = name.compare(0, 2, "--") == 0 ? name.substr(2) : name;
    auto option = std::find_if(options.begin(), options.end(),
                               [&](const Option &row) { return name == row.name; });
    if (option == options.end() || word.compare(0, 2, "--") != 0) {
      fault("unknown option '" + word.substr(0, equals) + "'" + suggestion(name, options));
      continue;
    }
    if (equals != std::string::npos) {
      if (option->takes == Takes::Nothing)
        fault("--" + name + " takes no value; write it without '='");
      else
        values_[name] = word.substr(equals + 1);
    } else if (option->takes == Takes::Value && i + 1 < count) {
      values_[name] = words[++i];
    } else {
      values_[name] = "";
    }
    // An empty one is a script's unset variable more often than a wish for the default.
    if (option->takes == Takes::Value && values_[name].empty()) {
      fault("--" + name + " needs a value: --" + name + " " + option->value);
      values_.erase(name);
    }
  }
}

std::string Arguments::text(const std::string &name, const std::string &otherwise) const {
  auto at = values_.find(name);
  return at == values_.end() ? otherwise : at->second;
}

std::string Arguments::choice(const std::string &name, const std::vector<std::string> &choices) {
  auto at = values_.find(name);
  if (at == values_.end())
    return choices[0];
  if (std::find(choices.begin(), choices.end(), at->second) != choices.end())
    return at->second;
  std::string list;
  for (const std::string &choice : choices)
    list += (list.empty() ? "" : ", ") + choice;
  fault("--" + name + " is '" + at->second + "'; expected one of: " + list);
  return choices[0];
}

std::optional<int64_t> parseInteger(const std::string &text) {
  int64_t value;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<double> parseReal(const std::string &text) {
  double value;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size())
    return std::nullopt;
  return value;
}

int64_t Arguments::integer(const std::string &name, int64_t otherwise, int64_t low, int64_t high) {
  auto at = values_.find(name);
  if (at == values_.end())
    return otherwise;
  std::optional<int64_t> value = parseInteger(at->second);
  if (value && *value >= low && *value <= high)
    return *value;
  fault("--" + name + " is '" + at->second + "'; expected an integer from " + std::to_string(low) +
        (high == INT64_MAX ? std::string(" on") : " to " + std::to_string(high)));
  return otherwise;
}

uint64_t Arguments::seed(const std::string &name, uint64_t otherwise) {
  auto at = values_.find(name);
  if (at == values_.end())
    return otherwise;
  uint64_t value;
  const char *first = at->second.data(), *last = first + at->second.size();
  auto [rest, error] = std::from_chars(first, last, value);
  if (error == std::errc() && rest == last)
    return value;
  fault("--" + name + " is '" + at->second +
        "'; expected an integer from 0 to 18446744073709551615");
  return otherwise;
}

double Arguments::real(const std::string &name, double otherwise, double low, double high) {
  auto at = values_.find(name);
  if (at == values_.end())
    return otherwise;
  std::optional<double> value = parseReal(at->second);
  if (value && *value >= low && *value <= high)
    return *value;
  char range[80];
  std::snprintf(range, sizeof range, "; expected a number from %g to %g", low, high);
  fault("--" + name + " is '" + at->second + "'" + range);
  return otherwise;
}

std::map<std::string, std::string> Arguments::pairs(const std::string &name,
                                                    const std::vector<std::string> &keys) {
  std::map<std::string, std::string> result;
  std::string rest = text(name);
  while (!rest.empty()) {
    size_t comma = rest.find(',');
    std::string pair = rest.substr(0, comma);
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    size_t equals = pair.find('=');
    std::string key = pair.substr(0, equals);
    if (equals == std::string::npos || std::find(keys.begin(), keys.end(), key) == keys.end()) {
      std::string list;
      for (const std::string &known : keys)
        list += (list.empty() ? "" : ", ") + known;
      fault("--" + name + " has '" + pair + "'; expected KEY=VALUE with a key of: " + list);
      continue;
    }
    result[key] = pair.substr(equals + 1);
  }
  return result;
}

void Arguments::require(const std::string &name, const char *value) {
  if (!has(name))
    fault("--" + name + " " + value + " is missing");
}

void Arguments::requirePath(const std::string &name, const char *what) {
  if (text(name) == "-")
    fault("--" + name + " is '-'; expected " + what + ": it is not written to standard output");
}

void Arguments::requireSuffix(const std::string &name, const std::vector<std::string> &suffixes) {
  const std::string path = text(name);
  const std::string suffix = std::filesystem::path(path).extension().string();
  std::error_code problem; // said when the file is opened
  requirePath(name, "a file");
  if (suffix.empty() || std::filesystem::is_other(path, problem) ||
      std::find(suffixes.begin(), suffixes.end(), suffix) != suffixes.end())
    return;
  std::string list;
  for (const std::string &known : suffixes)
    list += (list.empty() ? "" : ", ") + known;
  fault("--" + name + " is '" + path + "', a name with an unknown suffix; expected " +
        (suffixes.size() > 1 ? "one of " : "") + list);
}

/// Names in a folder; none where it cannot be read. (directory_iterator ends the process where
/// there is no memory.)
static std::vector<std::string> namesIn(const std::filesystem::path &folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR *)> entries(::opendir(folder.c_str()), ::closedir);
  while (const dirent *entry = entries ? ::readdir(entries.get()) : nullptr)
    names.emplace_back(entry->d_name);
  return names;
}

/// The files that mpcc wrote of the model in or beside `library`: libNAME.so and those named after
/// it.
static std::vector<std::filesystem::path> filesOfModel(const std::filesystem::path &library) {
  std::vector<std::filesystem::path> files;
  std::error_code problem; // said when the model is loaded
  const bool isFolder = std::filesystem::is_directory(library, problem);
  const std::filesystem::path folder = isFolder ? library : library.parent_path();
  std::vector<std::filesystem::path> libraries;
  if (!isFolder) {
    files.push_back(library); // an archive has all in it
    libraries.push_back(library);
  } else
    for (const std::string &name : namesIn(folder))
      libraries.push_back(folder / name);
  for (const std::filesystem::path &each : libraries) {
    const std::string stem = each.stem().string();
    if (each.extension() != ".so" || stem.compare(0, 3, "lib") != 0)
      continue;
    if (isFolder)
      files.push_back(each);
    for (const char *suffix : {".safetensors", ".json", ".h", "Config.cmake"})
      files.push_back(folder / (stem.substr(3) + suffix));
  }
  return files;
}

/// Whether the file is of a kind that commands read from folders: arrays, and checkpoints.
static bool isReadFromFolders(const std::filesystem::path &file) {
  const std::string name = file.filename().string();
  return file.extension() == ".npy" || name.find("ubyte") != std::string::npos ||
         (name.rfind("checkpoint-", 0) == 0 && file.extension() == ".safetensors");
}

void Arguments::requireDistinct(const std::vector<std::string> &outputs,
                                const std::vector<std::string> &inputs,
                                const std::pair<std::string, std::string> &mayReplace) {
  std::map<std::filesystem::path, std::string> named;
  auto resolve = [&](const std::string &name) {
    std::error_code problem; // found again, and reported, when the file is opened
    const std::filesystem::path path = text(name);
    const bool isSpecial = path == "-" || std::filesystem::is_other(path, problem); // a pipe
    return isSpecial ? std::filesystem::path() : std::filesystem::weakly_canonical(path, problem);
  };
  for (const std::string &input : inputs)
    named.emplace(resolve(input), input);
  named.erase(""); // options that were not given, too
  std::set<std::filesystem::path> ofModel;
  if (!positional_.empty())
    for (const std::filesystem::path &file : filesOfModel(positional_[0])) {
      std::error_code problem;
      ofModel.insert(std::filesystem::weakly_canonical(file, problem));
    }
  for (const std::string &output : outputs) {
    const std::filesystem::path path = resolve(output);
    if (path.empty())
      continue;
    std::error_code problem;
    const auto folder = named.find(path.parent_path());
    if (folder != named.end() && isReadFromFolders(path) && std::filesystem::exists(path, problem))
      fault("--" + output + " names " + text(output) + ", which is a file of --" + folder->second +
            "; expected another file");
    const bool replaces = output == mayReplace.first;
    if (ofModel.count(path) && !(replaces && path.extension() == ".safetensors"))
      fault("--" + output + " names " + text(output) +
            ", which belongs to the model; expected another file");
    auto [other, isNew] = named.emplace(path, output);
    if (!isNew && replaces && other->second == mayReplace.second)
      other->second = output;
    else if (!isNew)
      fault("--" + output + " and --" + other->second + " both name the file " + text(output) +
            "; expected another one");
  }
}

void Arguments::requirePositional(size_t count, const char *what) {
  if (positional_.size() < count)
    fault(std::string(what) + " is missing");
  else if (positional_.size() > count)
    fault("'" + positional_[count] + "' is one argument too many; expected " + what +
          " and options; --help lists them");
}

} // namespace mpc::commands
