// The memory that must result: sparse, a writer beside every byte. A byte that several writers
// wrote is contested: verbs do not say whose value stays.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace carillon::reference {

class shadow_memory {
 public:
  void write(std::uint32_t writer, std::uint64_t address, const std::uint8_t* bytes,
             std::size_t length);
  /// Nobody knows any more what is there.
  void forget(std::uint64_t address, std::uint64_t length);
  /// Puts what this writer wrote over `bytes`, which were read at `address`.
  void overlay(std::uint32_t writer, std::uint64_t address, std::vector<std::uint8_t>& bytes) const;
  [[nodiscard]] bool contested(std::uint64_t address, std::uint64_t length) const;

  /// Calls see(address, bytes, length) for each run of known bytes, in the order of addresses.
  template <class See>
  void visit(See see) const {
    for (const auto& [number, each] : pages_) {
      std::size_t begin = 0;
      while (begin < PageBytes) {
        std::size_t end = begin;
        while (end < PageBytes && known(each.writer[end])) {
          ++end;
        }
        if (end > begin) {
          see(number * PageBytes + begin, each.value.data() + begin, end - begin);
        }
        begin = end + 1;
      }
    }
  }

 private:
  static constexpr std::size_t PageBytes = 4096;
  static constexpr std::uint32_t Nobody = 0;
  static constexpr std::uint32_t Several = 0xffffffff;

  static bool known(std::uint32_t writer) { return writer != Nobody && writer != Several; }

  struct page {
    std::array<std::uint8_t, PageBytes> value{};
    std::array<std::uint32_t, PageBytes> writer{};
  };

  template <class See>
  bool each_page(std::uint64_t address, std::uint64_t length, See see) const;

  std::map<std::uint64_t, page> pages_;
};

}  // namespace carillon::reference
