// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which variables several ranks update a part each of: what --shard says of their paths.
#include "lib/Driver/Compilation.h"
#include "lib/Policy/JsonText.h"
#include "mpc/Policy/PathPattern.h"
#include "mpc/Support/InputFile.h"

using namespace mlir;
using namespace mpc;

namespace {

/// Keras's LayoutMap: for a path, or a regular expression of one, an axis of the mesh or null for
/// each dimension. The ranks are a mesh of one axis, so what counts is whether an axis is named.
class LayoutMap {
public:
  static llvm::Expected<LayoutMap> read(const std::string &file) {
    auto buffer = readInputFile(file);
    if (!buffer)
      return llvm::createStringError(file + ": cannot be read: " + buffer.getError().message());
    const StringRef text = (*buffer)->getBuffer();
    llvm::Expected<llvm::json::Value> parsed = parseJsonText(text);
    if (!parsed)
      return llvm::createStringError(file + ": " + llvm::toString(parsed.takeError()));
    const llvm::json::Object *object = parsed->getAsObject();
    if (!object)
      return llvm::createStringError(file + ": is no layout map; expected an object of paths and "
                                            "layouts, as {\"dense.*kernel\": [null, \"batch\"]}");
    LayoutMap map(file);
    for (const std::string &key : jsonKeyOrder(text, {}))
      if (llvm::Error error = map.add(key, *object->get(key)))
        return error;
    return map;
  }

  /// Whether the variable is in parts: what its key says; false where no key is of its path.
  llvm::Expected<bool> isSharded(StringRef path, size_t rank) {
    Entry *found = nullptr;
    for (Entry &entry : entries) {
      if (entry.key == path) {
        found = &entry;
        break;
      }
      llvm::Expected<bool> match = entry.pattern.fullMatch(path);
      if (!match)
        return llvm::createStringError(file + ": " + llvm::toString(match.takeError()));
      if (*match && found)
        return llvm::createStringError(file + ": path '" + path + "' matches the keys '" +
                                       found->key + "' and '" + entry.key +
                                       "'; expected one key for each path");
      if (*match)
        found = &entry;
    }
    if (!found)
      return false;
    found->isUsed = true;
    if (found->axes != rank)
      return llvm::createStringError(file + ": '" + found->key + "' has a layout of " +
                                     llvm::Twine(found->axes) + " dimensions, but '" + path +
                                     "' has " + llvm::Twine(rank));
    return found->isSharded;
  }

  /// Null where each key is of some path.
  const std::string *findUnused() const {
    for (const Entry &entry : entries)
      if (!entry.isUsed)
        return &entry.key;
    return nullptr;
  }

private:
  struct Entry {
    std::string key;
    PathPattern pattern;
    size_t axes;
    bool isSharded, isUsed = false;
  };
  explicit LayoutMap(const std::string &file) : file(file) {}

  llvm::Error add(const std::string &key, const llvm::json::Value &layout) {
    const llvm::json::Array *axes = layout.getAsArray();
    size_t named = 0;
    bool isWrong = !axes;
    if (axes)
      for (const llvm::json::Value &axis : *axes) {
        named += axis.getAsString().has_value();
        isWrong |= !axis.getAsString() && axis.kind() != llvm::json::Value::Null;
      }
    if (isWrong || named > 1)
      return llvm::createStringError(file + ": '" + key +
                                     "': expected a list with null for each dimension, but for at "
                                     "most one the name of an axis, as [null, \"batch\"]");
    entries.push_back({key, PathPattern(key), axes->size(), named != 0});
    return llvm::Error::success();
  }

  std::string file;
  std::vector<Entry> entries;
};

} // namespace

ExitCode mpc::chooseShards(Compilation &compilation) {
  DiagnosticPrinter &diagnostics = compilation.diagnostics;
  ModuleOp module = *compilation.module;
  const auto [what, file] = StringRef(compilation.options.shard).split(':');
  if (what.empty())
    return kExitDone;
  std::optional<LayoutMap> map;
  if (!file.empty()) {
    llvm::Expected<LayoutMap> read = LayoutMap::read(file.str());
    if (!read) {
      diagnostics.error("--shard: " + llvm::toString(read.takeError()));
      return kExitBadInput;
    }
    map = std::move(*read);
  }
  for (VariableOp variable : module.getOps<VariableOp>()) {
    if (variable.getRole() != VariableRole::Trainable || variable.getOverwriteWithGradient())
      continue;
    auto type = cast<RankedTensorType>(variable.getType());
    llvm::Expected<bool> isSharded =
        map ? map->isSharded(variable.getSymName(), size_t(type.getRank())) : true;
    if (!isSharded) {
      diagnostics.error("--shard: " + llvm::toString(isSharded.takeError()));
      return kExitBadInput;
    }
    if (*isSharded)
      variable.setSharded(true);
  }
  if (const std::string *unused = map ? map->findUnused() : nullptr) {
    diagnostics.error("--shard: " + file + ": '" + *unused +
                      "' is the path of no variable that trains; expected a path, or a regular "
                      "expression of one");
    return kExitBadInput;
  }
  return kExitDone;
}
