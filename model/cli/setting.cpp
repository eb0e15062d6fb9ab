#include "cli/setting.h"

#include <fmt/format.h>

#include "cli/text.h"
#include "common/error.h"

namespace carillon {

std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a number with a fraction";
    case toml::node_type::boolean:
      return "a boolean";
    default:
      return "a date or time";
  }
}

std::string position(const std::string& file, const toml::source_region& source) {
  return fmt::format("{}:{}", file, source.begin.line);
}

void setting::fail(std::string_view problem) const {
  throw config_error(fmt::format("{}: {}: {}", where_, key_, problem));
}

void setting::wrong_type(std::string_view what) const {
  fail(fmt::format("is {}, but must be {}", type_name(value_), what));
}

std::uint64_t setting::integer(std::uint64_t min, std::uint64_t max) const {
  const auto value = value_.value_exact<std::int64_t>();
  if (!value) {
    wrong_type(fmt::format("an integer from {} to {}", min, max));
  }
  if (*value < 0 || static_cast<std::uint64_t>(*value) < min ||
      static_cast<std::uint64_t>(*value) > max) {
    fail(fmt::format("{} is out of range; allowed: {} to {}", *value, min, max));
  }
  return static_cast<std::uint64_t>(*value);
}

bool setting::boolean() const {
  const auto value = value_.value_exact<bool>();
  if (!value) {
    wrong_type("true or false");
  }
  return *value;
}

std::string setting::string() const {
  const auto value = value_.value_exact<std::string>();
  if (!value) {
    wrong_type("a string");
  }
  return *value;
}

double setting::number() const {
  if (!value_.is_number()) {
    wrong_type("a number");
  }
  return *value_.value<double>();
}

std::size_t setting::choice(const std::vector<std::string>& words) const {
  const auto value = value_.value_exact<std::string>();
  if (!value) {
    wrong_type(any_of(words));
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == *value) {
      return i;
    }
  }
  fail(fmt::format("there is no `{}`; allowed: {}", *value, any_of(words)));
}

const toml::table& setting::table() const {
  if (!value_.is_table()) {
    wrong_type("a table");
  }
  return *value_.as_table();
}

const toml::array& setting::array() const {
  if (!value_.is_array()) {
    wrong_type("a list");
  }
  return *value_.as_array();
}

}  // namespace carillon
