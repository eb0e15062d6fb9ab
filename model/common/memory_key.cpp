#include "common/memory_key.h"

#include <algorithm>

#include "common/error.h"
#include "gen/bytes.h"

namespace carillon {

namespace {

constexpr std::uint64_t EntryBytes = 8;

bool allows(const mkey_line& key, key_right right) {
  switch (right) {
    case key_right::local_read:
      return key.lr != 0;
    case key_right::local_write:
      return key.lw != 0;
    case key_right::remote_read:
      return key.rr != 0;
    case key_right::remote_write:
      return key.rw != 0;
    case key_right::remote_atomic:
      return key.a != 0;
  }
  return false;
}

bool covers(const mkey_line& key, std::uint64_t address, std::uint64_t length) {
  if (key.length64 != 0) {
    return true;
  }
  return address >= key.start_addr && length <= key.len &&
         address - key.start_addr <= key.len - length;
}

}  // namespace

key_fault check_key(const mkey_line& key, bool exists, const key_use& use) {
  if (!exists) {
    return key_fault::index;
  }
  if (key.valid == 0) {
    return key_fault::free;
  }
  if (key.variant != (use.key & ((1U << MkeyVariantBits) - 1))) {
    return key_fault::variant;
  }
  if (key.function_id != use.function) {
    return key_fault::function;
  }
  if (!use.checked) {
    if (key.pd != use.pd) {
      return key_fault::pd;
    }
    if (key.qpn != MkeyAnyQp && key.qpn != use.qpn) {
      return key_fault::qp;
    }
    if (!allows(key, use.right)) {
      return key_fault::right;
    }
  }
  return covers(key, use.address, std::max(use.length, use.message)) ? key_fault::none
                                                                     : key_fault::range;
}

page_walk::page_walk(const mkey_line& key, key_right right, std::uint64_t address,
                     std::uint32_t length) {
  restart(key, right, address, length);
}

void page_walk::restart(const mkey_line& key, key_right right, std::uint64_t address,
                        std::uint32_t length) {
  pieces_.clear();
  left_ = length;
  if (length == 0) {
    return;
  }
  if (key.contiguous != 0) {
    append(key.phys_base + (address - key.start_addr), length);
    left_ = 0;
    return;
  }
  needed_ = writes(right) ? MttWriteEnable : MttReadEnable;
  page_bytes_ = std::uint64_t{1} << key.log_page_size;
  const std::uint64_t first_page = key.start_addr & ~(page_bytes_ - 1);
  const std::uint64_t into = address - first_page;
  entry_ = key.mtt_base + static_cast<std::uint32_t>(into >> key.log_page_size);
  offset_ = into & (page_bytes_ - 1);
}

bool page_walk::take(const std::array<std::uint8_t, mtt_line::Size>& line) {
  CARILLON_CHECK(!done(), "page walk: translation line {} was not asked for", this->line());
  const std::uint32_t number = this->line();
  while (left_ != 0 && this->line() == number) {
    const std::uint64_t entry =
        bytes::load_be<EntryBytes>(line.data() + entry_ % EntriesPerLine * EntryBytes);
    if ((entry & needed_) == 0) {
      return false;
    }
    const std::uint64_t page = entry & ~(page_bytes_ - 1);
    const auto length =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(left_, page_bytes_ - offset_));
    append(page + offset_, length);
    left_ -= length;
    offset_ = 0;
    ++entry_;
  }
  return true;
}

void page_walk::append(std::uint64_t address, std::uint32_t length) {
  if (!pieces_.empty() && pieces_.back().address + pieces_.back().length == address) {
    pieces_.back().length += length;
  } else {
    pieces_.push_back({address, length});
  }
}

}  // namespace carillon
