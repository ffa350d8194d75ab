// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Python's repr of JSON values.
#include "lib/Policy/PythonRepr.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mpc;

std::string mpc::pythonRepr(llvm::StringRef text) {
  char quote = text.contains('\'') && !text.contains('"') ? '"' : '\'';
  std::string out(1, quote);
  for (char c : text) {
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += "\\x" + llvm::utohexstr(static_cast<unsigned char>(c), /*LowerCase=*/true, 2);
    } else {
      out += c;
    }
  }
  return out + quote;
}

std::string mpc::pythonRepr(const llvm::json::Value &value) {
  switch (value.kind()) {
  case llvm::json::Value::Null:
    return "None";
  case llvm::json::Value::Boolean:
    return *value.getAsBoolean() ? "True" : "False";
  case llvm::json::Value::Number:
    return llvm::formatv("{0}", value).str();
  case llvm::json::Value::String:
    return pythonRepr(*value.getAsString());
  case llvm::json::Value::Array: {
    std::string out = "[";
    llvm::ListSeparator separator(", ");
    for (const llvm::json::Value &item : *value.getAsArray())
      out += llvm::StringRef(separator).str() + pythonRepr(item);
    return out + "]";
  }
  case llvm::json::Value::Object: {
    llvm::SmallVector<llvm::StringRef> keys;
    for (const auto &item : *value.getAsObject())
      keys.push_back(item.first);
    llvm::sort(keys);
    std::string out = "{";
    llvm::ListSeparator separator(", ");
    for (llvm::StringRef key : keys)
      out += llvm::StringRef(separator).str() + pythonRepr(key) + ": " +
             pythonRepr(*value.getAsObject()->get(key));
    return out + "}";
  }
  }
  llvm_unreachable("unknown JSON kind");
}

llvm::StringRef mpc::pythonType(const llvm::json::Value &value) {
  switch (value.kind()) {
  case llvm::json::Value::Null:
    return "<class 'NoneType'>";
  case llvm::json::Value::Boolean:
    return "<class 'bool'>";
  case llvm::json::Value::Number:
    return value.getAsInteger() ? "<class 'int'>" : "<class 'float'>";
  case llvm::json::Value::String:
    return "<class 'str'>";
  case llvm::json::Value::Array:
    return "<class 'list'>";
  case llvm::json::Value::Object:
    return "<class 'dict'>";
  }
  llvm_unreachable("unknown JSON kind");
}
