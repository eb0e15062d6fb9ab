#include "cosim/uar_traffic.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "gen/wqe.h"

namespace carillon {

namespace {

constexpr std::uint32_t Bf = uar_page::BfBuffer;
constexpr std::uint32_t BfBytes = uar_page::BfBufferBytes;
constexpr std::array<std::uint16_t, 4> Lines = {8, 16, 32, 64};

const char* line_bin(std::uint16_t length) {
  return length == 8    ? "chunk.8"
         : length == 16 ? "chunk.16"
         : length == 32 ? "chunk.32"
                        : "chunk.64";
}

}  // namespace

uar_contexts::uar_contexts(const parameters& params, std::uint64_t seed) {
  random_stream random(seed, "uar_bench/contexts");
  const auto last = static_cast<std::uint32_t>(
      std::bit_ceil(static_cast<std::uint64_t>(params.nic.uar_pages)) - 1);
  const auto last_function = static_cast<std::uint16_t>(params.nic.total_vfs);
  // A few functions with many pages each, more with few, or all.
  const bool few = seed % 3 == 0;
  std::vector<std::uint16_t> functions = {0, 1, last_function};
  for (unsigned i = few ? 2 : 20; i != 0; --i) {
    functions.push_back(static_cast<std::uint16_t>(random.between(0, last_function)));
  }
  if (all_functions(seed) || (!few && last >= 63)) {
    functions.resize(last_function + std::size_t{1});
    std::iota(functions.begin(), functions.end(), std::uint16_t{0});
  }
  std::sort(functions.begin(), functions.end());
  functions.erase(std::unique(functions.begin(), functions.end()), functions.end());
  const std::uint32_t most = few ? 31 : last >= 63 ? 2 : 1;
  const std::uint32_t steps = std::min(last, most);
  for (const std::uint16_t function : functions) {
    for (std::uint32_t i = 0; i < steps; ++i) {
      const std::uint32_t from = i * last / steps;
      pages.push_back(
          {function, static_cast<std::uint32_t>(random.between(from, (i + 1) * last / steps - 1))});
    }
    pages.push_back({function, last});
  }
  for (unsigned i = 0; i < Qps; ++i) {
    const uar_page_id& owner = pages[i % pages.size()];
    numbers[i] = i + Qps * static_cast<std::uint32_t>(random.below((1U << 24) / Qps));
    qps[i].valid = random.chance(1, 16) ? 0 : 1;
    qps[i].function_id = owner.function;
    qps[i].uar_page = owner.page;
    qps[i].pd = static_cast<std::uint32_t>(random.below(1U << 24));
  }
}

mmio_write uar_traffic::store(std::size_t page, std::uint32_t offset, std::uint16_t length) const {
  mmio_write item;
  item.function = what_.pages[page].function;
  item.bar = 2;
  item.offset = std::uint64_t{what_.pages[page].page} * UarPageBytes + offset;
  item.length = length;
  return item;
}

mmio_write uar_traffic::make_write() {
  if (storm_ == 0) {
    storm_ = random_.chance(1, 2) ? 1 : static_cast<unsigned>(random_.below(200));
    storm_kind_ = static_cast<unsigned>(random_.below(9));
  } else {
    --storm_;
  }
  // Writers interleave, or one has the core for itself for a while.
  if (scripts_[current_].empty() || random_.chance(1, 4)) {
    current_ = random_.below(scripts_.size());
  }
  if (scripts_[current_].empty()) {
    begin(current_);
  }
  script& now = scripts_[current_];
  const mmio_write item = now.back();
  now.pop_back();
  return item;
}

void uar_traffic::begin(std::size_t page) {
  const unsigned kind = storm_ > 1 ? storm_kind_ : static_cast<unsigned>(random_.below(9));
  switch (kind) {
    case 0:
    case 1:
      doorbell(page);
      break;
    case 2:
      halves(page);
      break;
    case 3:
      queue(page);
      break;
    case 4:
      anything(page);
      break;
    case 5:
      one_line(page);
      break;
    default:
      burst(page);
      break;
  }
}

std::uint32_t uar_traffic::pick_qp(std::size_t page) {
  const std::size_t pages = what_.pages.size();
  switch (random_.below(24)) {
    case 0:
      cover_.hit("qp.unknown");
      return what_.numbers[random_.below(uar_contexts::Qps)] ^ (1U << random_.between(12, 23));
    case 1: {
      const std::size_t other = random_.below(pages);
      cover_.hit(what_.pages[other].function == what_.pages[page].function ? "qp.other_page"
                                                                           : "qp.other_function");
      return what_.numbers[other];
    }
    default:
      cover_.hit("qp.owner");
      return what_.numbers[page + pages * random_.below((uar_contexts::Qps - page) / pages)];
  }
}

void uar_traffic::fill_control(std::uint8_t* bytes, std::size_t page, std::uint8_t ds) {
  ctrl_seg control;
  control.opmod = static_cast<std::uint8_t>(random_.below(256));
  control.wqe_index = static_cast<std::uint16_t>(random_.next());
  control.opcode = static_cast<decltype(control.opcode)>(random_.below(256));
  control.qpn = pick_qp(page);
  control.ds = ds;
  control.imm = static_cast<std::uint32_t>(random_.next());
  control.pack(bytes);
}

void uar_traffic::doorbell(std::size_t page) {
  // In DB_REC, or at the start of BF_BUFFER.
  mmio_write item = store(page, random_.chance(1, 8) ? Bf : uar_page::DbRec, 8);
  fill_control(item.data.data(), page, static_cast<std::uint8_t>(random_.below(64)));
  cover_.hit("doorbell.whole");
  scripts_[page] = {item};
}

void uar_traffic::halves(std::size_t page) {
  mmio_write whole = store(page, uar_page::DbRec, 8);
  fill_control(whole.data.data(), page, static_cast<std::uint8_t>(random_.below(64)));
  mmio_write first = whole;
  first.length = 4;
  mmio_write second = store(page, uar_page::DbRec + 4, 4);
  std::copy_n(whole.data.begin() + 4, 4, second.data.begin());
  switch (random_.below(8)) {
    case 0:
      cover_.hit("doorbell.first_half");
      scripts_[page] = {first};
      break;
    case 1:
      cover_.hit("doorbell.second_half");
      scripts_[page] = {second};
      break;
    case 2:
      cover_.hit("doorbell.halves_and_whole");
      scripts_[page] = {second, whole, first};
      break;
    default:
      cover_.hit("doorbell.halves");
      scripts_[page] = {second, first};
      break;
  }
}

uar_traffic::wqe_draft uar_traffic::draft_wqe(std::size_t page) {
  wqe_draft wqe;
  for (std::uint8_t& byte : wqe.bytes) {
    byte = static_cast<std::uint8_t>(random_.next());
  }
  auto ds = static_cast<std::uint8_t>(random_.between(1, 16));
  if (random_.chance(1, 3)) {
    ds = static_cast<std::uint8_t>(random_.between(1, 4));
  }
  if (random_.chance(1, 16)) {
    ds = static_cast<std::uint8_t>(random_.chance(1, 2) ? 17 : random_.between(17, 63));
    cover_.hit("burst.too_long");
  } else if (random_.chance(1, 24)) {
    ds = 0;
    cover_.hit("burst.size_zero");
  }
  fill_control(wqe.bytes.data(), page, ds);
  const unsigned blocks = beats_of(std::uint64_t{ds} * SegmentBytes);
  wqe.length = std::min(blocks * BeatBytes, BfBytes);
  cover_.hit_if(blocks <= 4, blocks == 1   ? "burst.blocks_1"
                             : blocks == 2 ? "burst.blocks_2"
                             : blocks == 3 ? "burst.blocks_3"
                                           : "burst.blocks_4");
  return wqe;
}

/// The WQE in chunks, in the order of their bytes.
std::vector<mmio_write> uar_traffic::cut(std::size_t page, const wqe_draft& wqe, bool small) {
  std::vector<mmio_write> result;
  const bool whole_lines = random_.chance(1, 2);
  for (std::uint32_t at = 0; at < wqe.length;) {
    std::uint16_t length = small ? 8 : 64;
    if (!small && (!whole_lines || at % 64 != 0)) {
      do {
        length = Lines[random_.below(Lines.size())];
      } while (at % length != 0);
    }
    mmio_write item = store(page, Bf + at, length);
    std::copy_n(wqe.bytes.begin() + at, length, item.data.begin());
    cover_.hit(line_bin(length));
    result.push_back(item);
    at += length;
  }
  return result;
}

void uar_traffic::burst(std::size_t page) {
  const bool small = random_.chance(1, 12);
  std::vector<mmio_write> chunks = cut(page, draft_wqe(page), small);
  cover_.hit_if(small, "burst.of_8_byte_stores");
  if (random_.chance(1, 2)) {
    for (std::size_t i = chunks.size(); i > 1; --i) {
      std::swap(chunks[i - 1], chunks[random_.below(i)]);
    }
    cover_.hit("burst.shuffled");
  } else {
    cover_.hit("burst.in_order");
  }
  switch (random_.below(16)) {
    case 0:
    case 1:
      chunks.resize(random_.between(1, chunks.size()));
      cover_.hit("burst.broken_off");
      break;
    case 2:
      chunks.push_back(chunks[random_.below(chunks.size())]);
      std::swap(chunks.back(), chunks[random_.below(chunks.size())]);
      cover_.hit("burst.a_chunk_twice");
      break;
    case 3:
      chunks.resize(random_.between(1, chunks.size()));
      chunks.insert(chunks.begin() + 1, cut(page, draft_wqe(page), false).front());
      cover_.hit("burst.first_chunk_twice");
      break;
    case 4: {
      // Two writers without a lock.
      const std::vector<mmio_write> others = cut(page, draft_wqe(page), false);
      for (const mmio_write& other : others) {
        chunks.insert(
            chunks.begin() + static_cast<std::ptrdiff_t>(random_.below(chunks.size() + 1)), other);
      }
      cover_.hit("burst.two_mixed");
      break;
    }
    case 5: {
      chunks.resize(random_.between(1, chunks.size()));
      const std::vector<mmio_write> others = cut(page, draft_wqe(page), false);
      chunks.insert(chunks.end(), others.begin(), others.end());
      cover_.hit("burst.one_after_the_other");
      break;
    }
    default:
      break;
  }
  scripts_[page].assign(chunks.rbegin(), chunks.rend());
}

/// As a driver writes a short WQE.
void uar_traffic::one_line(std::size_t page) {
  mmio_write item = store(page, Bf, 64);
  for (std::uint8_t& byte : item.data) {
    byte = static_cast<std::uint8_t>(random_.next());
  }
  fill_control(item.data.data(), page, static_cast<std::uint8_t>(random_.between(1, 4)));
  cover_.hit("burst.one_line");
  scripts_[page] = {item};
}

void uar_traffic::queue(std::size_t page) {
  mmio_write item;
  switch (random_.below(4)) {
    case 0:
      item = store(page, uar_page::EqDb, eq_doorbell::Size);
      cover_.hit("queue.eq");
      break;
    case 1:
      item = store(page, uar_page::EqDbArm, eq_doorbell::Size);
      cover_.hit("queue.eq_arm");
      break;
    default:
      item = store(page, uar_page::CqDb, cq_doorbell::Size);
      cover_.hit("queue.cq");
      break;
  }
  if (random_.chance(1, 12)) {
    item.length = item.length == 4 ? 8 : 4;
    cover_.hit("queue.wrong_size");
  }
  for (std::uint16_t i = 0; i < item.length; ++i) {
    item.data[i] = static_cast<std::uint8_t>(random_.next());
  }
  scripts_[page] = {item};
}

/// Stores of any size at any place, the corners of both more often.
void uar_traffic::anything(std::size_t page) {
  static constexpr std::array<std::uint16_t, 16> Lengths = {0,  1,  2,  3,  4,  5,   7,   8,
                                                            12, 16, 24, 32, 64, 128, 256, 512};
  static constexpr std::array<std::uint32_t, 16> Offsets = {
      0,      4,  8,      0x20,      0x24,      0x40,      0x44,       0x48,
      Bf - 8, Bf, Bf + 4, Bf + 0xc0, Bf + 0xf8, Bf + 0xfc, Bf + 0x100, 0xff8};
  const std::uint16_t length = Lengths[random_.below(Lengths.size())];
  const std::uint32_t offset = random_.chance(1, 2)
                                   ? Offsets[random_.below(Offsets.size())]
                                   : static_cast<std::uint32_t>(random_.below(UarPageBytes));
  mmio_write item = store(page, offset, length);
  for (std::uint8_t& byte : item.data) {
    byte = static_cast<std::uint8_t>(random_.next());
  }
  if (random_.chance(1, 2)) {
    fill_control(item.data.data(), page, static_cast<std::uint8_t>(random_.below(20)));
  }
  const bool in_buffer = offset >= Bf && offset < Bf + BfBytes;
  cover_.hit_if(in_buffer && offset + length > Bf + BfBytes, "ignored.crosses_the_end");
  cover_.hit_if(in_buffer && length == 64 && offset % 64 != 0, "ignored.misaligned");
  cover_.hit_if(in_buffer && length == 24, "ignored.length");
  cover_.hit_if(offset > uar_page::EqDb && !in_buffer, "ignored.place");
  scripts_[page] = {item};
}

mmio_read uar_traffic::make_read() {
  const std::size_t page = loads_.below(what_.pages.size());
  mmio_read item;
  item.function = what_.pages[page].function;
  item.bar = 2;
  item.length = 8;
  std::uint32_t offset = uar_page::DbRec;
  switch (loads_.below(8)) {
    case 0:
      offset = Bf + 8 * static_cast<std::uint32_t>(loads_.below(BfBytes / 8));
      cover_.hit("read.bf_buffer");
      break;
    case 1:
      offset = static_cast<std::uint32_t>(loads_.below(UarPageBytes / 4)) * 4;
      item.length = 4;
      cover_.hit("read.elsewhere");
      break;
    case 2:
    case 3:
      offset += 4 * static_cast<std::uint32_t>(loads_.below(2));
      item.length = 4;
      cover_.hit("read.half");
      break;
    default:
      cover_.hit("read.whole");
      break;
  }
  item.offset = std::uint64_t{what_.pages[page].page} * UarPageBytes + offset;
  item.requester = static_cast<std::uint16_t>(loads_.next());
  item.tag = static_cast<std::uint16_t>(loads_.below(1024));
  return item;
}

}  // namespace carillon
