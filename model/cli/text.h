// Small text helpers for messages that tell the user what would have been right.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace carillon {

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
unsigned edit_distance(std::string_view a, std::string_view b);

/// The known name nearest to `word`; empty if none is near enough to be meant.
std::string closest(std::string_view word, const std::vector<std::string>& known);

/// "a, b or c".
std::string any_of(const std::vector<std::string>& words);

/// "; did you mean `x`?" or, if nothing is near, "; allowed: a, b or c".
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

/// Pieces between separators; an empty text has none.
std::vector<std::string> split(std::string_view text, char separator);

/// At most three decimals and none that are zero.
std::string trimmed(double value);

/// 1234567 as 1,234,567.
std::string grouped(std::uint64_t value);

}  // namespace carillon
