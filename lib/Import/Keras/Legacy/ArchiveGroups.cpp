// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/Legacy/ArchiveGroups.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <memory>

namespace mpc::keras {
namespace {

/// Groups and datasets by the parts of their paths.
struct Group {
  std::map<std::string, std::unique_ptr<Group>> children;

  void add(llvm::StringRef path) {
    Group *group = this;
    while (!path.empty()) {
      auto [name, rest] = path.split('/');
      std::unique_ptr<Group> &child = group->children[name.str()];
      if (!child)
        child = std::make_unique<Group>();
      group = child.get();
      path = rest;
    }
  }
};

/// "dense_2" is number 2 of "dense", "dense" is number 0.
std::pair<llvm::StringRef, unsigned> splitNumber(llvm::StringRef name) {
  auto [base, digits] = name.rsplit('_');
  unsigned number = 0;
  if (digits.empty() || digits.getAsInteger(10, number))
    return {name, 0};
  return {base, number};
}

using Names = std::map<std::string, std::map<unsigned, std::string>>;

/// The children of a container by class and number.
Names sortByClass(const Group &container) {
  Names names;
  for (const auto &[name, child] : container.children) {
    auto [base, number] = splitNumber(name);
    names[base.str()][number] = name;
  }
  return names;
}

class Alignment {
public:
  /// From paths of the file to those of the model.
  std::map<std::string, std::string> renamed;

  void align(const Group &file, const Group &model, const std::string &filePath,
             const std::string &modelPath, bool isContainer) {
    if (!filePath.empty() && file.children.empty())
      renamed[filePath] = modelPath;
    auto descend = [&](const std::string &inFile, const std::string &inModel) {
      auto child = file.children.find(inFile);
      auto other = model.children.find(inModel);
      if (child != file.children.end() && other != model.children.end())
        align(*child->second, *other->second, join(filePath, inFile), join(modelPath, inModel),
              inModel == "layers");
    };
    if (!isContainer) {
      for (const auto &[name, child] : model.children)
        descend(name, name);
      return;
    }
    const Names inFile = sortByClass(file), inModel = sortByClass(model);
    for (const auto &[base, numbers] : inModel) {
      auto found = inFile.find(base);
      if (found == inFile.end())
        continue;
      // The layers of a class come in one order, however they are counted.
      auto stored = found->second.begin();
      for (const auto &[number, name] : numbers)
        if (stored != found->second.end())
          descend((stored++)->second, name);
    }
  }

private:
  static std::string join(const std::string &group, const std::string &name) {
    return group.empty() ? name : group + "/" + name;
  }
};

} // namespace

/// The parts of a path without the underscore that private attributes of Python's have.
static std::string makePublic(llvm::StringRef path) {
  std::string result;
  while (!path.empty()) {
    auto [name, rest] = path.split('/');
    name.consume_front("_");
    result += (result.empty() ? "" : "/") + name.str();
    path = rest;
  }
  return result;
}

void renameLegacyGroups(WeightFile &file, llvm::ArrayRef<std::string> expected) {
  constexpr llvm::StringLiteral legacy("_layer_checkpoint_dependencies/");
  bool countsTwice = false;
  // A group keeps what it holds besides the model's variables, such as scales of a quantized
  // kernel.
  auto groupOf = [](llvm::StringRef path) { return path.rsplit("/vars/").first; };
  llvm::StringSet<> known;
  for (const std::string &path : expected)
    known.insert(groupOf(path));
  WeightFile renamed;
  for (auto &[path, tensor] : file) {
    std::string name = path;
    std::replace(name.begin(), name.end(), '\\', '/');
    for (size_t at; (at = name.find(legacy)) != std::string::npos;) {
      name.replace(at, legacy.size(), "layers/");
      countsTwice = true;
    }
    if (name.find("/_") != std::string::npos && !known.contains(groupOf(name)))
      name = makePublic(name);
    renamed.emplace(std::move(name), std::move(tensor));
  }
  file = std::move(renamed);
  if (!countsTwice)
    return;
  Group stored, wanted;
  for (const auto &[path, tensor] : file)
    stored.add(path);
  for (const std::string &path : expected)
    wanted.add(path);
  Alignment alignment;
  alignment.align(stored, wanted, "", "", /*isContainer=*/false);
  WeightFile aligned;
  for (auto &[path, tensor] : file) {
    auto found = alignment.renamed.find(path);
    aligned.emplace(found == alignment.renamed.end() ? path : found->second, std::move(tensor));
  }
  file = std::move(aligned);
}

} // namespace mpc::keras
