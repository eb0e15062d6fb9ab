#include "cosim/payload_dma_traffic.h"

#include <algorithm>

#include "gen/bytes.h"
#include "gen/wqe.h"

namespace carillon {

namespace {

constexpr std::uint8_t SmallestPage = 12;  ///< log2 of its bytes
constexpr unsigned LargePages = 28;        ///< sizes above it

constexpr std::uint32_t LongestEntry = 0x7fffffff;
constexpr std::uint32_t LongEntry = 1U << 24;

constexpr std::uint64_t scramble(std::uint64_t x) {
  x = (x + 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
  return x ^ (x >> 29);
}

}  // namespace

// Contexts
// ------------------------------------------------------------------------------------------------

payload_dma_contexts::payload_dma_contexts(std::uint64_t seed) {
  random_stream random(seed, "payload_dma_bench/keys");
  const unsigned turn = static_cast<unsigned>(random.below(LargePages));
  functions = {0, 1, static_cast<std::uint16_t>(random.between(2, 0x7fff)),
               static_cast<std::uint16_t>(random.between(0x8000, 0xffff))};
  for (unsigned i = 0; i < Keys; ++i) {
    // The highest bit is for keys that nobody has.
    numbers[i] = i + Keys * static_cast<std::uint32_t>(random.below((1U << 23) / Keys));
    mkey_line& key = keys[i];
    key.valid = i >= Contiguous ? 1 : 0;
    key.variant = static_cast<std::uint8_t>(random.next());
    key.function_id = functions[i % Functions];
    key.lr = 1;
    key.rr = 1;
    key.qpn = MkeyAnyQp;
    key.start_addr = random.next() >> 8;
    if (i < Paged) {
      key.contiguous = 1;
      key.phys_base = random.next() >> 4;
      key.len = (std::uint64_t{1} << random.between(13, 42)) + random.below(1U << 20);
      if (i >= Whole) {
        key.length64 = 1;
        key.start_addr = 0;
        key.len = 0;
      }
      continue;
    }
    // Of the rows every third has pages of 4 KiB; the others have each larger size once.
    const unsigned row = (i - Paged) / Functions;
    const unsigned nth = (row - row / 3 - 1) * Functions + i % Functions;
    key.log_page_size = static_cast<std::uint8_t>(
        row % 3 == 0 ? SmallestPage : SmallestPage + 1 + (nth + turn) % LargePages);
    // A line has eight entries, and a number of 24 bits.
    key.mtt_base = static_cast<std::uint32_t>(random.below(1U << 7) << 20 | i * ListEntries) +
                   static_cast<std::uint32_t>(random.below(8));
    // Short lists as often as long ones.
    const std::uint64_t page = std::uint64_t{1} << key.log_page_size;
    key.len = page * random.between(2, 2U << random.below(13)) + random.below(page);
  }
}

std::uint64_t payload_dma_contexts::entry(std::uint32_t index) const {
  const unsigned log_page = keys[index / ListEntries % Keys].log_page_size;
  const std::uint64_t mark = scramble(index);
  // Four pages in a row, in some lines over the line's end; page bits below the page's size are of
  // no meaning.
  const std::uint64_t row = index + index / 32 % 2;
  const std::uint64_t page = (scramble(row / 4) << 2 | row % 4) << log_page;
  const std::uint64_t low = mark & ((std::uint64_t{1} << log_page) - 1) & ~std::uint64_t{3};
  return page | low | MttWriteEnable | ((mark >> 32 & 63) != 0 ? MttReadEnable : 0);
}

bool payload_dma_contexts::line_exists(std::uint32_t line) {
  return (scramble(line) >> 33 & 63) != 0;
}

context_line payload_dma_contexts::line_of(const context_read& read) const {
  context_line line;
  line.trace = read.trace;
  line.kind = read.kind;
  line.index = read.index;
  if (read.kind == context_kind::mkey) {
    const mkey_line* const key = find(read.index << MkeyVariantBits);
    line.valid = key != nullptr;
    if (line.valid) {
      key->pack(line.data.data());
    }
  } else {
    line.valid = line_exists(read.index);
    for (unsigned i = 0; i < 8; ++i) {
      bytes::store_be<8>(line.data.data() + std::size_t{8} * i, entry(read.index * 8 + i));
    }
  }
  return line;
}

std::optional<std::uint64_t> payload_dma_contexts::iova(std::uint32_t key_value,
                                                        std::uint64_t address) const {
  const mkey_line* const found = find(key_value);
  if (found == nullptr) {
    return std::nullopt;
  }
  const mkey_line& key = *found;
  if (key.contiguous != 0) {
    return key.phys_base + (address - key.start_addr);
  }
  const std::uint64_t in_page = (std::uint64_t{1} << key.log_page_size) - 1;
  const std::uint64_t into = address - (key.start_addr & ~in_page);
  const auto number = key.mtt_base + static_cast<std::uint32_t>(into >> key.log_page_size);
  const std::uint64_t page = entry(number);
  if (!line_exists(number / 8) || (page & MttReadEnable) == 0) {
    return std::nullopt;
  }
  return (page & ~in_page) + (into & in_page);
}

// Packets
// ------------------------------------------------------------------------------------------------

std::uint32_t payload_dma_traffic::key_value(unsigned index) const {
  return what_.numbers[index] << MkeyVariantBits | what_.keys[index].variant;
}

std::uint32_t payload_dma_traffic::pick_payload() {
  switch (phase_) {
    case phase_e::tiny:
      return static_cast<std::uint32_t>(1 + random_.below(64));
    case phase_e::big:
      return 4096;
    default:
      break;
  }
  switch (random_.below(8)) {
    case 0:
      return 1;
    case 1:
      return 64;
    case 2:
      return 65;
    case 3:
      return 4096;
    case 4:
      return 256U << random_.below(4);
    default:
      return static_cast<std::uint32_t>(1 + random_.below(4096));
  }
}

unsigned payload_dma_traffic::pick_segments() {
  if (phase_ == phase_e::many_segments || phase_ == phase_e::paged_many) {
    return random_.chance(1, 3) ? MaxSge : static_cast<unsigned>(random_.between(20, MaxSge));
  }
  if (phase_ == phase_e::tiny) {
    return random_.chance(1, 2) ? 1 : static_cast<unsigned>(random_.between(1, 3));
  }
  if (phase_ == phase_e::big) {
    return 1;
  }
  return random_.chance(1, 4) ? static_cast<unsigned>(random_.between(1, MaxSge))
                              : static_cast<unsigned>(random_.between(1, 3));
}

/// As often 2 bytes as 2 GiB.
std::uint32_t payload_dma_traffic::pick_distance() {
  return static_cast<std::uint32_t>(
      random_.between(1, (std::uint64_t{2} << random_.below(30)) - 1));
}

payload_dma_traffic::made payload_dma_traffic::make() {
  ++count_;
  if (phase_left_-- == 0) {
    phase_ = static_cast<phase_e>(random_.below(static_cast<std::uint64_t>(phase_e::count_)));
    phase_left_ = phase_ == phase_e::tiny ? 1023 : 255;
    spoiling_ = random_.chance(1, 4);
  }
  made of;
  packet_item& item = of.packet;
  item.order = count_;
  owner_ = static_cast<unsigned>(random_.below(payload_dma_contexts::Functions));
  item.function = what_.functions[owner_];
  item.qpn = static_cast<std::uint32_t>(random_.below(1U << 24));
  item.life = static_cast<std::uint8_t>(random_.next());
  item.wqe_opcode = static_cast<std::uint8_t>(random_.next());
  item.solicited = random_.chance(1, 2);
  item.ack_request = random_.chance(1, 2);
  item.psn = static_cast<std::uint32_t>(random_.below(1U << 24));
  item.first = random_.chance(1, 2);
  item.last = random_.chance(1, 2);
  item.remote_address = random_.next();
  item.rkey = static_cast<std::uint32_t>(random_.next());
  item.dma_length = static_cast<std::uint32_t>(random_.next());
  item.imm = static_cast<std::uint32_t>(random_.next());
  item.swap_add = random_.next();
  item.compare = random_.next();
  item.syndrome = static_cast<std::uint8_t>(random_.next());
  item.msn = static_cast<std::uint32_t>(random_.below(1U << 24));
  item.payload = pick_payload();
  item.paged = phase_ == phase_e::paged || phase_ == phase_e::paged_many || random_.chance(1, 6);
  cover_.hit(item.paged ? "paged.yes" : "paged.no");
  cover_.hit(item.payload == 1      ? "payload.one_byte"
             : item.payload == 64   ? "payload.one_line"
             : item.payload == 65   ? "payload.line_and_byte"
             : item.payload == 4096 ? "payload.largest"
                                    : "payload.other");
  if (random_.chance(1, 5)) {
    item.source = packet_source::read_response;
    item.writes_before = random_.next();
    const range data = pick_range(item.payload, item.paged);
    item.message_offset = static_cast<std::uint32_t>(random_.next());
    item.remote_address = data.address - item.message_offset;
    item.rkey = data.key;
    of.ranges.push_back(data);
    cover_.hit("kind.response");
  } else {
    const bool datagram = random_.chance(1, 4);
    item.service = datagram ? work_item::UdService : static_cast<std::uint8_t>(random_.below(2));
    cover_.hit(datagram ? "kind.datagram" : "kind.request");
    make_list(of);
  }
  if (item.paged) {
    for (const range& each : of.ranges) {
      cover_pages(each);
    }
  }
  return of;
}

/// Cuts the payload into pieces and puts a gather list around them.
void payload_dma_traffic::make_list(made& of) {
  packet_item& item = of.packet;
  const unsigned wanted = std::min<unsigned>(pick_segments(), item.payload);
  unsigned entries = wanted;
  std::vector<std::uint32_t> cuts;
  for (unsigned i = 1; i < wanted; ++i) {
    cuts.push_back(static_cast<std::uint32_t>(random_.between(1, item.payload - 1)));
  }
  cuts.push_back(0);
  cuts.push_back(item.payload);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());

  std::vector<data_seg> list;
  const auto add = [&](const range& where) {
    data_seg segment;
    segment.byte_count = where.length;
    segment.lkey = where.key;
    segment.address = where.address;
    list.push_back(segment);
  };
  const auto other = [&](std::uint32_t length) {
    range somewhere;
    somewhere.length = length;
    somewhere.address = random_.next();
    somewhere.key = static_cast<std::uint32_t>(random_.next());
    return somewhere;
  };

  std::uint64_t offset = 0;
  // Entries before the packet's first byte, some of no bytes.
  const unsigned spare = MaxSge - entries;
  const bool all_before = random_.chance(1, 8);
  unsigned left_over = all_before ? spare : static_cast<unsigned>(random_.below(spare + 1));
  while (left_over != 0 && (all_before || random_.chance(2, 3))) {
    --left_over;
    std::uint32_t length = static_cast<std::uint32_t>(random_.below(9000));
    if (random_.chance(1, 3)) {
      length = 0;
      cover_.hit("list.empty_entry");
    }
    if (random_.chance(1, 12) && offset < (1U << 30)) {
      length = random_.chance(1, 16)
                   ? LongestEntry - static_cast<std::uint32_t>(random_.below(4096))
                   : pick_distance();
    }
    offset += length;
    cover_.hit_if(length >= LongEntry, "list.long_entry");
    cover_.hit_if(offset >= (1ULL << 31), "list.beyond_two_gib");
    add(other(length));
    cover_.hit_if(length != 0, "list.starts_behind_entries");
  }
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    range piece = pick_range(cuts[i + 1] - cuts[i], item.paged);
    of.ranges.push_back(piece);
    if (i == 0 && random_.chance(1, 2)) {
      auto before = static_cast<std::uint32_t>(random_.between(1, 5000));
      if (const std::uint32_t far = pick_distance(); far <= LongestEntry - piece.length &&
                                                     offset + far < (1ULL << 32) - 8192 &&
                                                     random_.chance(1, 3)) {
        before = far;
      }
      cover_.hit_if(before >= LongEntry, "list.starts_far_inside");
      piece.address -= before;
      piece.length += before;
      offset += before;
      cover_.hit("list.starts_inside");
    }
    if (i + 2 == cuts.size() && random_.chance(1, 2)) {
      const std::uint32_t room = LongestEntry - piece.length;
      const std::uint32_t behind = random_.chance(1, 3)
                                       ? pick_distance()
                                       : static_cast<std::uint32_t>(random_.between(1, 5000));
      piece.length += std::min(behind, room);
      cover_.hit("list.ends_inside");
    }
    add(piece);
    if (left_over != 0 && random_.chance(1, 8)) {
      --left_over;
      add(other(0));
      cover_.hit("list.empty_entry");
    }
  }
  while (left_over != 0 && random_.chance(2, 3)) {
    --left_over;
    add(other(static_cast<std::uint32_t>(random_.below(9000))));
    cover_.hit("list.entries_behind");
  }
  cover_.hit_if(all_before && of.ranges.size() == 1, "list.last_entry");
  cover_.hit(of.ranges.size() == 1        ? "list.one_piece"
             : of.ranges.size() == MaxSge ? "list.most_pieces"
                                          : "list.some_pieces");
  item.message_offset = static_cast<std::uint32_t>(offset);
  item.sge_count = static_cast<std::uint8_t>(list.size());
  item.body = buffers_.take();
  item.data_offset = item.service == work_item::UdService ? DatagramBytes : 0;
  std::uint8_t* const body = item.body.data();
  for (std::uint32_t i = 0; i < item.data_offset; ++i) {
    body[i] = static_cast<std::uint8_t>(random_.next());
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i].pack(body + item.data_offset + i * data_seg::Size);
  }
}

/// Where a piece is: anywhere, or within a key of the function; a few of these are spoiled.
payload_dma_traffic::range payload_dma_traffic::pick_range(std::uint32_t length, bool paged) {
  using contexts = payload_dma_contexts;
  range result;
  result.length = length;
  result.paged = paged;
  if (!paged) {
    result.address = random_.next();
    result.key = static_cast<std::uint32_t>(random_.next());
    return result;
  }
  const unsigned first = random_.chance(1, 6) ? contexts::Contiguous : contexts::Paged;
  const unsigned last = first == contexts::Contiguous ? contexts::Paged : contexts::Keys;
  const auto row = static_cast<unsigned>(random_.below((last - first) / contexts::Functions));
  const unsigned index = first + row * contexts::Functions + owner_;
  const mkey_line& key = what_.keys[index];
  result.key = key_value(index);
  const std::uint64_t room = key.length64 != 0 ? std::uint64_t{1} << 50 : key.len - length;
  result.address = key.start_addr + random_.below(room + 1);
  if (key.contiguous == 0 && random_.chance(phase_ == phase_e::paged_many ? 7 : 4, 8)) {
    // Over the end of a page, so that a packet may be more pieces than entries.
    const std::uint64_t page = std::uint64_t{1} << key.log_page_size;
    const std::uint64_t end = (result.address & ~(page - 1)) + page;
    const std::uint64_t at = end - 1 - random_.below(length);
    if (at >= key.start_addr && at - key.start_addr <= room) {
      result.address = at;
    }
  }
  cover_.hit(key.length64 != 0 ? "key.whole" : key.contiguous != 0 ? "key.contiguous" : "key.list");
  const unsigned seldom = phase_ == phase_e::mixed ? 12 : spoiling_ ? 24 : 400;
  if (random_.chance(1, seldom)) {
    spoil(result);
  }
  return result;
}

void payload_dma_traffic::spoil(range& of) {
  using contexts = payload_dma_contexts;
  const unsigned index = of.key >> MkeyVariantBits & (contexts::Keys - 1);
  const mkey_line& key = what_.keys[index];
  const bool bounded = key.length64 == 0;
  switch (random_.below(8)) {
    case 0:
      of.key = key_value(contexts::Invalid + owner_);
      of.address = what_.keys[contexts::Invalid + owner_].start_addr;
      cover_.hit("key.invalid");
      break;
    case 1:
      of.key ^= 1U << random_.below(MkeyVariantBits);
      cover_.hit("key.variant");
      break;
    case 2: {
      const unsigned foreign = index ^ 1;
      of.key = key_value(foreign);
      of.address = what_.keys[foreign].start_addr;
      cover_.hit("key.function");
      break;
    }
    case 3:
      of.key |= 1U << 31;
      cover_.hit("key.unknown");
      break;
    case 4:
      if (bounded) {
        of.address = key.start_addr - 1;
        cover_.hit("key.before");
      }
      break;
    case 5:
      of.address = key.start_addr;
      cover_.hit("key.first");
      break;
    case 6:
      if (bounded) {
        of.address = key.start_addr + key.len - of.length;
        cover_.hit("key.last");
      }
      break;
    default:
      if (bounded) {
        of.address = key.start_addr + key.len - of.length + 1;
        cover_.hit("key.beyond");
      }
      break;
  }
}

void payload_dma_traffic::cover_pages(const range& each) {
  const mkey_line* const found = what_.find(each.key);
  if (found == nullptr || found->contiguous != 0 || found->valid == 0) {
    return;
  }
  const mkey_line& key = *found;
  const std::uint64_t page = std::uint64_t{1} << key.log_page_size;
  const std::uint64_t into = each.address - (key.start_addr & ~(page - 1));
  const auto number = [&](std::uint64_t at) {
    return key.mtt_base + static_cast<std::uint32_t>(at >> key.log_page_size);
  };
  const auto readable = [&](std::uint32_t entry) {
    return (what_.entry(entry) & MttReadEnable) != 0;
  };
  const std::uint32_t first = number(into);
  const std::uint32_t last = number(into + each.length - 1);
  const bool lines = first / 8 != last / 8;
  const bool joined =
      (what_.entry(first) & ~(page - 1)) + page == (what_.entry(last) & ~(page - 1));
  cover_.hit(first == last ? "pages.one" : lines ? "pages.two_lines" : "pages.two");
  cover_.hit_if(first != last && joined, lines ? "pages.joined_over_lines" : "pages.joined");
  cover_.hit_if(first != last && lines && !joined, "pages.two_lines_apart");
  cover_.hit_if(first - key.mtt_base >= 512, "pages.far");
  cover_.hit_if(!readable(first), "pages.unreadable");
  cover_.hit_if(first != last && readable(first) && !readable(last), "pages.second_unreadable");
  cover_.hit_if(!what_.line_exists(first / 8), "pages.line_missing");
  cover_.hit_if(lines && what_.line_exists(first / 8) && !what_.line_exists(last / 8),
                "pages.second_line_missing");
  cover_.hit_if(key.log_page_size > 16, "pages.large");
  cover_.hit_if(key.log_page_size > 31, "pages.huge");
}

}  // namespace carillon
