// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's options of a translation take no value: `--export-dot=layers` and `--export-svg=FILE`
// become options that it knows.
#ifndef MPC_TOOLS_PICTURE_OPTIONS_H
#define MPC_TOOLS_PICTURE_OPTIONS_H

#include "runtime/untrusted/outlets.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/WithColor.h"
#include <string>
#include <vector>

namespace mpc {

/// Owns the words that it puts in place of the program's.
class PictureOptions {
public:
  PictureOptions(int &argc, char **&argv) {
    for (int i = 0; i < argc; ++i)
      add(argv[i]);
    for (std::string &word : words)
      pointers.push_back(word.data());
    argc = static_cast<int>(words.size());
    pointers.push_back(nullptr);
    argv = pointers.data();
  }
  /// Whether a value is none; an error was printed.
  bool isWrong() const { return wrong; }

private:
  void add(llvm::StringRef word) {
    llvm::StringRef option = word;
    if (!option.consume_front("--"))
      option.consume_front("-");
    const auto [name, value] = option.split('=');
    if (name == "export-dot" && option.contains('=')) {
      words.push_back(value == "layers" ? "--export-dot-layers" : "--export-dot");
      wrong |= value != "layers" && value != "ops";
      if (wrong)
        llvm::WithColor::error() << "mpc-translate: --export-dot is '" << untrusted::forLine(value)
                                 << "'; expected ops or layers\n";
    } else if (name == "export-svg" && !value.empty()) {
      words.push_back("--export-svg");
      words.push_back("-o=" + value.str());
    } else {
      words.push_back(word.str());
    }
  }

  std::vector<std::string> words;
  std::vector<char *> pointers;
  bool wrong = false;
};

} // namespace mpc

#endif // MPC_TOOLS_PICTURE_OPTIONS_H
