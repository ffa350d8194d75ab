// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PCRE2 behind map keys. Keys and paths come from model files: pattern length, nesting, memory and
// the number of matching steps of all keys and paths together are bounded.
#include "mpc/Policy/PathPattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include "llvm/Support/MemAlloc.h"
#include <pcre2.h>

#include <atomic>
#include <cstdlib>

using namespace mpc;

static constexpr size_t maxPathBytes = 65535;

/// PCRE2's memory: where there is none, LLVM's handler tells and ends the process, as for all other
/// memory of the compiler. PCRE2 itself would go on with contexts that are null.
static pcre2_general_context *memory() {
  static pcre2_general_context *context =
      pcre2_general_context_create([](PCRE2_SIZE size, void *) { return llvm::safe_malloc(size); },
                                   [](void *block, void *) { std::free(block); }, nullptr);
  return context;
}

static std::shared_ptr<void> compile(llvm::StringRef pattern, uint32_t options,
                                     std::string &message) {
  std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(memory()), pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context.get(), 2000);
  int code = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code *compiled = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                       options, &code, &offset, context.get());
  if (compiled)
    return std::shared_ptr<void>(compiled,
                                 [](void *p) { pcre2_code_free(static_cast<pcre2_code *>(p)); });
  if (code == PCRE2_ERROR_LOOKBEHIND_NOT_FIXED_LENGTH) {
    message = "look-behind requires fixed-width pattern";
    return nullptr;
  }
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(code, text, sizeof(text));
  message = std::string("mpc cannot match this pattern: ") + reinterpret_cast<const char *>(text);
  return nullptr;
}

/// About a second's work of PCRE2 on a slow CPU.
static constexpr uint32_t kBudget = 20'000'000;
static std::atomic<uint32_t> spent{0};

void mpc::renewMatchBudget() { spent = 0; }

/// One try within `limit` steps: positive for a match, PCRE2_ERROR_NOMATCH, or another error.
static int matchWithin(uint32_t limit, void *code, llvm::StringRef subject) {
  std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> context(
      pcre2_match_context_create(memory()), pcre2_match_context_free);
  pcre2_set_match_limit(context.get(), limit);
  pcre2_set_depth_limit(context.get(), 1'000'000);
  pcre2_set_heap_limit(context.get(), 64 * 1024); // KiB
  std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
      pcre2_match_data_create_from_pattern(static_cast<pcre2_code *>(code), memory()),
      pcre2_match_data_free);
  return pcre2_match(static_cast<pcre2_code *>(code), reinterpret_cast<PCRE2_SPTR>(subject.data()),
                     subject.size(), 0, 0, data.get(), context.get());
}

/// The same within what is left of the budget. PCRE2 does not say how many steps it took, so that a
/// match is tried with few first, and with more where these did not do; each try takes from the
/// budget what it was allowed.
static int match(void *code, llvm::StringRef subject) {
  for (uint32_t limit : {32u, 1024u, 32'768u, kBudget}) {
    const uint32_t before = spent.fetch_add(0);
    if (before >= kBudget)
      break;
    limit = std::min(limit, kBudget - before);
    spent += limit;
    const int result = matchWithin(limit, code, subject);
    if (result != PCRE2_ERROR_MATCHLIMIT)
      return result;
  }
  return PCRE2_ERROR_MATCHLIMIT;
}

PathPattern::PathPattern(llvm::StringRef utf8) : source(utf8.str()) {
  llvm::Expected<std::string> translated = translatePythonRegex(utf8);
  if (!translated) {
    error = llvm::toString(translated.takeError());
    return;
  }
  std::string message;
  code =
      compile(*translated,
              PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_NEVER_BACKSLASH_C,
              message);
  if (!code)
    error = std::move(message);
}

static llvm::Error regexError(const llvm::Twine &text) {
  return llvm::make_error<PolicyError>(PolicyErrorKind::Regex, text.str());
}

llvm::Expected<bool> PathPattern::fullMatch(llvm::StringRef path) const {
  if (!code)
    return regexError(error);
  if (path.size() > maxPathBytes)
    return regexError("the path has " + llvm::Twine(path.size()) + " bytes; mpc's limit is " +
                      llvm::Twine(maxPathBytes));
  int result = match(code.get(), path);
  if (result >= 0)
    return true;
  if (result == PCRE2_ERROR_NOMATCH)
    return false;
  if (result == PCRE2_ERROR_MATCHLIMIT || result == PCRE2_ERROR_DEPTHLIMIT ||
      result == PCRE2_ERROR_HEAPLIMIT)
    return llvm::make_error<PolicyError>(
        PolicyErrorKind::Budget,
        ("matching the key '" + source +
         "' takes more steps than mpc allows for all keys and layers together (" +
         llvm::Twine(kBudget) + "); write it without nested repeats")
            .str());
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(result, text, sizeof(text));
  return regexError("matching the key '" + source +
                    "' failed: " + reinterpret_cast<const char *>(text));
}
