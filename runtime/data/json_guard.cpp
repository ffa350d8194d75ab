// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A SAX walk over JSON text that keeps only the keys of the open objects.
#include "runtime/data/json_guard.h"

#include <nlohmann/json.hpp>
#include <set>

namespace mpc::data {

namespace {

class Guard : public nlohmann::json_sax<nlohmann::json> {
public:
  explicit Guard(size_t maximumDepth) : maximumDepth_(maximumDepth) {}
  std::string message;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool key(string_t &name) override {
    if (open_.back().insert(name).second)
      return true;
    message = "the key '" + name + "' is there twice";
    return false;
  }
  bool parse_error(std::size_t position, const std::string &,
                   const nlohmann::json::exception &exception) override {
    constexpr int numberOverflow = 406;
    const std::string place = " at byte " + std::to_string(position);
    message = exception.id == numberOverflow ? "has a number" + place + " that float64 cannot hold"
                                             : "is no JSON" + place;
    return false;
  }

private:
  bool enter() {
    open_.emplace_back();
    if (open_.size() <= maximumDepth_)
      return true;
    message = "is nested deeper than " + std::to_string(maximumDepth_);
    return false;
  }
  bool leave() {
    open_.pop_back();
    return true;
  }
  size_t maximumDepth_;
  std::vector<std::set<std::string>> open_;
};

} // namespace

std::string checkJson(const char *text, size_t size, size_t maximumDepth) {
  Guard guard(maximumDepth);
  if (!nlohmann::json::sax_parse(text, text + size, &guard) && guard.message.empty())
    guard.message = "is no JSON";
  return guard.message;
}

} // namespace mpc::data
