#include "host/memory_region.h"

#include <algorithm>

#include "common/error.h"

namespace carillon {

std::size_t page_list::pages_for(std::uint64_t length) const {
  const std::uint64_t page = std::uint64_t{1} << log_page_size;
  return static_cast<std::size_t>((start % page + length + page - 1) >> log_page_size);
}

std::uint64_t page_list::locate(std::uint64_t address) const {
  const std::uint64_t page = std::uint64_t{1} << log_page_size;
  const std::uint64_t number = (address >> log_page_size) - (start >> log_page_size);
  CARILLON_CHECK(address >= start && number < pages.size(),
                 "page_list: virtual address {:#x}; the list has {} pages from {:#x} on", address,
                 pages.size(), start);
  return pages[number] + address % page;
}

void page_list::read(const host_memory& memory, std::uint64_t address, void* into,
                     std::size_t length) const {
  auto* to = static_cast<std::uint8_t*>(into);
  const std::uint64_t page = std::uint64_t{1} << log_page_size;
  while (length != 0) {
    const auto piece = std::min<std::uint64_t>(length, page - address % page);
    memory.read(locate(address), to, piece);
    to += piece;
    address += piece;
    length -= piece;
  }
}

void page_list::write(host_memory& memory, std::uint64_t address, const void* from,
                      std::size_t length) const {
  const auto* bytes = static_cast<const std::uint8_t*>(from);
  const std::uint64_t page = std::uint64_t{1} << log_page_size;
  while (length != 0) {
    const auto piece = std::min<std::uint64_t>(length, page - address % page);
    memory.write(locate(address), bytes, piece);
    bytes += piece;
    address += piece;
    length -= piece;
  }
}

page_list page_list::scattered(machine& host, std::uint64_t start, std::uint64_t length,
                               unsigned log_page_size) {
  page_list list;
  list.start = start;
  list.log_page_size = log_page_size;
  const std::size_t count = list.pages_for(length);
  const std::uint64_t page = std::uint64_t{1} << log_page_size;
  const std::uint64_t base = host.allocate(count * page, page);
  for (std::size_t i = count; i-- != 0;) {
    list.pages.push_back(base + i * page);
  }
  return list;
}

}  // namespace carillon
