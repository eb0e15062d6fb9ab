// Lists of numbers (QPs, functions) that take turns: put in at the end, taken out anywhere, without
// an allocation.
//
// The links are beside the lists, one for each number, so a number is in one list of its kind at
// most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace carillon {

inline constexpr std::uint32_t NoNumber = 0xffffffff;

struct number_list {
  std::uint32_t first = NoNumber;
  std::uint32_t last = NoNumber;

  [[nodiscard]] bool empty() const { return first == NoNumber; }
};

class number_links {
 public:
  explicit number_links(std::size_t numbers) : links_(numbers) {}

  /// The number behind `number` in its list.
  [[nodiscard]] std::uint32_t behind(std::uint32_t number) const { return links_[number].behind; }

  void push(number_list& list, std::uint32_t number) {
    links_[number] = {list.last, NoNumber};
    (list.empty() ? list.first : links_[list.last].behind) = number;
    list.last = number;
  }

  void erase(number_list& list, std::uint32_t number) {
    const link old = links_[number];
    (old.before == NoNumber ? list.first : links_[old.before].behind) = old.behind;
    (old.behind == NoNumber ? list.last : links_[old.behind].before) = old.before;
  }

 private:
  struct link {
    std::uint32_t before = NoNumber;
    std::uint32_t behind = NoNumber;
  };

  std::vector<link> links_;
};

}  // namespace carillon
