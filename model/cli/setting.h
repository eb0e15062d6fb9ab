// One key and its value as the user wrote it, with the messages for values that are wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <toml++/toml.h>
#include <vector>

namespace carillon {

class setting {
 public:
  /// `where` is file:line or the option.
  setting(std::string where, std::string key, const toml::node& value)
      : where_(std::move(where)), key_(std::move(key)), value_(value) {}

  [[nodiscard]] const std::string& where() const { return where_; }

  [[nodiscard]] const std::string& key() const { return key_; }

  [[nodiscard]] const toml::node& node() const { return value_; }

  /// Throws config_error "where: key: problem".
  [[noreturn]] void fail(std::string_view problem) const;

  /// Throws "is a string, but must be `what`".
  [[noreturn]] void wrong_type(std::string_view what) const;

  [[nodiscard]] std::uint64_t integer(std::uint64_t min, std::uint64_t max) const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::string string() const;
  [[nodiscard]] double number() const;

  /// The index of the value among the allowed words.
  [[nodiscard]] std::size_t choice(const std::vector<std::string>& words) const;

  [[nodiscard]] const toml::table& table() const;
  [[nodiscard]] const toml::array& array() const;

 private:
  std::string where_;
  std::string key_;
  const toml::node& value_;
};

/// "a string", "an integer" ...
std::string_view type_name(const toml::node& node);

std::string position(const std::string& file, const toml::source_region& source);

/// Calls `apply(key, setting)` for each key of a table of this file; `prefix` is the table's path.
template <class Function>
void each_key(const std::string& file, const toml::table& table, const std::string& prefix,
              Function&& apply) {
  for (const auto& [key, node] : table) {
    apply(key.str(),
          setting(position(file, key.source()),
                  prefix.empty() ? std::string(key.str()) : prefix + '.' + std::string(key.str()),
                  node));
  }
}

}  // namespace carillon
