#include "cosim/wqe_parser_traffic.h"

#include <algorithm>

#include "gen/stages.h"
#include "gen/wire.h"

namespace carillon {

namespace {

using contexts = wqe_parser_contexts;

constexpr std::uint64_t LastAddress = ~std::uint64_t{0};

bool is_atomic(wqe_opcode opcode) {
  return opcode == wqe_opcode::AtomicCompareSwap || opcode == wqe_opcode::AtomicFetchAdd;
}

bool has_remote(wqe_opcode opcode) {
  return opcode == wqe_opcode::RdmaWrite || opcode == wqe_opcode::RdmaWriteImmediate ||
         opcode == wqe_opcode::RdmaRead || is_atomic(opcode);
}

bool has_data(wqe_opcode opcode) {
  return opcode != wqe_opcode::Nop && opcode != wqe_opcode::LocalInvalidate;
}

}  // namespace

wqe_item wqe_parser_traffic::make() {
  draft of;
  wqe_item& wqe = of.wqe;
  wqe.bytes = buffers_.take();
  // What lies beyond a WQE in the buffer is nobody's.
  std::fill_n(wqe.bytes.data(), 1024, static_cast<std::uint8_t>(random_.below(256)));
  wqe.function = static_cast<std::uint16_t>(random_.next());
  wqe.qpn = what_.qp_numbers[random_.chance(1, 4) ? random_.below(contexts::Qps)
                                                  : random_.between(16, contexts::Qps - 1)];
  if (random_.chance(1, 100)) {
    wqe.qpn = static_cast<std::uint32_t>(random_.below(1U << 24));
  }
  if (const qpc_common* const qp = what_.find_qp(wqe.qpn)) {
    of.service = qp->service;
    of.mtu = std::uint64_t{128} << static_cast<unsigned>(qp->mtu);
  } else {
    cover_.hit("qp.unknown");
  }
  wqe.wqe_index = static_cast<std::uint16_t>(random_.next());
  wqe.epoch = static_cast<std::uint8_t>(random_.below(256));
  wqe.origin = random_.chance(1, 4) ? wqe_origin::blueflame : wqe_origin::fetched;

  of.control.wqe_index = wqe.wqe_index;
  of.control.qpn = wqe.qpn;
  of.control.opcode = pick_opcode(of.service);
  of.control.fm = static_cast<fence_mode>(random_.below(5));
  of.control.ce = static_cast<completion_mode>(random_.below(4));
  of.control.se = static_cast<std::uint8_t>(random_.below(2));
  of.control.imm = of.control.opcode == wqe_opcode::LocalInvalidate
                       ? key_to_invalidate(wqe.qpn)
                       : static_cast<std::uint32_t>(random_.next());
  add_fixed(of);
  add_data(of);
  wqe.ds = static_cast<std::uint8_t>(of.units);
  spoil(of);
  of.control.ds = wqe.ds;
  if (random_.chance(1, 64)) {
    of.control.ds = static_cast<std::uint8_t>(of.control.ds ^ 1U << random_.below(6));
    cover_.hit("wqe.other_size");
  }
  sign(of);
  cover_.hit_if(wqe.ds == MaxWqeUnits, "size.largest");
  cover_.hit(wqe.origin == wqe_origin::fetched ? "origin.fetched" : "origin.blueflame");
  cover_.hit(fmt::format("beats.{}", beats_of(std::uint64_t{wqe.ds} * SegmentBytes)));
  return wqe;
}

wqe_opcode wqe_parser_traffic::pick_opcode(qp_service service) {
  using enum wqe_opcode;
  static constexpr std::array Known = {
      Send,     SendImmediate,     RdmaWrite,      RdmaWriteImmediate, SendInvalidate,
      RdmaRead, AtomicCompareSwap, AtomicFetchAdd, LocalInvalidate,    Nop};
  if (random_.chance(1, 40)) {
    return static_cast<wqe_opcode>(random_.below(256));
  }
  if (random_.chance(1, 12)) {
    return Known[random_.below(Known.size())];
  }
  // The first ones are what UD serves, and UC.
  const std::size_t legal = service == qp_service::Ud ? 2 : service == qp_service::Uc ? 4 : 9;
  return Known[random_.below(legal)];
}

std::uint32_t wqe_parser_traffic::key_value(unsigned index) const {
  return what_.key_numbers[index] << MkeyVariantBits | what_.keys[index].variant;
}

/// A key that the QP may use for everything.
std::uint32_t wqe_parser_traffic::pick_key(std::uint32_t qpn) {
  const unsigned domain = qpn % contexts::Domains;
  if (random_.chance(1, 8) && what_.find_qp(qpn) != nullptr) {
    cover_.hit("key.bound");
    return key_value(contexts::Bound + qpn % contexts::Qps);
  }
  if (random_.chance(1, 16)) {
    cover_.hit("key.whole");
    return key_value(contexts::Whole + domain);
  }
  const auto row = static_cast<unsigned>(random_.below((contexts::Whole - contexts::Good) / 4));
  return key_value(contexts::Good + row * contexts::Domains + domain);
}

std::uint32_t wqe_parser_traffic::key_to_invalidate(std::uint32_t qpn) {
  const unsigned domain = qpn % contexts::Domains;
  const std::uint32_t key = pick_key(qpn);
  switch (random_.below(16)) {
    case 0:
      cover_.hit("invalidate.variant");
      return key ^ 1U << random_.below(MkeyVariantBits);
    case 1:
      cover_.hit("invalidate.pd");
      return key_value(contexts::Good + (domain ^ 1));
    case 2:
      cover_.hit("invalidate.function");
      return key_value(contexts::Foreign + domain);
    case 3:
      cover_.hit("invalidate.other_qp");
      return key_value(contexts::Bound + (qpn + contexts::Domains) % contexts::Qps);
    case 4:
      cover_.hit("invalidate.unknown");
      return key | 1U << 31;
    case 5:
      cover_.hit("invalidate.again");
      return key_value(contexts::Invalid + domain);
    default:
      cover_.hit("invalidate.valid");
      return key;
  }
}

void wqe_parser_traffic::add_fixed(draft& of) {
  const wqe_opcode opcode = of.control.opcode;
  of.datagram = of.service == qp_service::Ud && has_data(opcode) && !has_remote(opcode);
  of.writes = opcode == wqe_opcode::RdmaRead || is_atomic(opcode);
  if (has_remote(opcode)) {
    raddr_seg segment;
    segment.raddr = random_.next();
    if (is_atomic(opcode)) {
      segment.raddr &= ~std::uint64_t{7};
      if (random_.chance(1, 8)) {
        segment.raddr |= std::uint64_t{1} << random_.below(3);
      }
      cover_.hit(segment.raddr % 8 == 0 ? "atomic.aligned" : "atomic.misaligned");
    }
    segment.rkey = static_cast<std::uint32_t>(random_.next());
    segment.pack(of.end());
    ++of.units;
  }
  if (is_atomic(opcode)) {
    atomic_seg segment;
    segment.swap_add = random_.next();
    segment.compare = random_.next();
    segment.pack(of.end());
    ++of.units;
  }
  if (of.datagram) {
    for (unsigned i = 0; i < datagram_seg::Size; ++i) {
      of.end()[i] = static_cast<std::uint8_t>(random_.below(256));
    }
    of.units += datagram_seg::Size / SegmentBytes;
  }
}

void wqe_parser_traffic::add_data(draft& of) {
  const wqe_opcode opcode = of.control.opcode;
  if (!has_data(opcode)) {
    if (random_.chance(1, 16)) {
      cover_.hit("size.data_of_none");
      add_pointers(of);
    }
  } else if (is_atomic(opcode)) {
    add_atomic_data(of);
  } else if (of.writes ? random_.chance(1, 16) : random_.chance(1, 3)) {
    cover_.hit_if(of.writes, "inline.read");
    add_inline(of);
  } else {
    add_pointers(of);
  }
}

/// Bytes of a datagram, around its limit now and then.
std::uint64_t wqe_parser_traffic::datagram_bytes(const draft& of) {
  switch (random_.below(12)) {
    case 0:
      cover_.hit("datagram.empty");
      return 0;
    case 1:
      cover_.hit("datagram.mtu");
      return of.mtu;
    case 2:
      cover_.hit("datagram.over_mtu");
      return of.mtu + 1;
    default:
      return random_.below(of.mtu + 1);
  }
}

void wqe_parser_traffic::add_inline(draft& of) {
  const unsigned room = (MaxWqeUnits - of.units) * SegmentBytes - inline_seg::Size;
  std::uint64_t length = random_.chance(1, 2) ? random_.below(61) : random_.below(room + 1);
  if (of.datagram && random_.chance(1, 2)) {
    length = std::min<std::uint64_t>(datagram_bytes(of), room);
  }
  switch (random_.below(12)) {
    case 0:
      length = 0;
      cover_.hit("inline.empty");
      break;
    case 1:
      length = room;
      cover_.hit(of.datagram ? "datagram.longest_inline" : "inline.longest");
      break;
    case 2:
      // Fills its last unit to the last byte.
      length = std::min<std::uint64_t>(12 + 16 * random_.below(60), room);
      cover_.hit("inline.flush");
      break;
    default:
      break;
  }
  // cppcheck-suppress redundantInitialization; the handle's buffer, not the handle
  std::uint8_t* data = of.end();
  inline_seg head;
  head.inline_flag = 1;
  head.byte_count = static_cast<std::uint16_t>(length);
  head.pack(data);
  for (std::uint64_t i = 0; i < length; ++i) {
    data[inline_seg::Size + i] = static_cast<std::uint8_t>(random_.next());
  }
  of.units += static_cast<unsigned>((inline_seg::Size + length + SegmentBytes - 1) / SegmentBytes);
}

void wqe_parser_traffic::add_pointers(draft& of) {
  static constexpr std::array<unsigned, 8> Common = {1, 1, 1, 1, 2, 2, 3, 4};
  unsigned count = Common[random_.below(Common.size())];
  if (random_.chance(1, 8)) {
    count = static_cast<unsigned>(random_.below(MaxSge + 1));
  }
  if (random_.chance(1, 32)) {
    count = MaxSge;
    cover_.hit_if(of.control.opcode == wqe_opcode::RdmaRead, "sge.most_of_a_read");
  }
  cover_.hit(count == 0       ? "sge.none"
             : count == 1     ? "sge.one"
             : count < MaxSge ? "sge.some"
                              : "sge.most");
  if (count >= 2 && random_.chance(1, 32)) {
    add_longest(of);
    return;
  }
  const bool faulty = random_.chance(1, 6);
  const auto fault_at = static_cast<unsigned>(random_.below(std::max(count, 1U)));
  std::uint64_t left = of.datagram ? datagram_bytes(of) : 0;
  for (unsigned i = 0; i < count; ++i) {
    data_seg segment = good_segment(of.wqe.qpn);
    if (of.datagram) {
      segment.byte_count =
          static_cast<std::uint32_t>(i + 1 == count ? left : random_.below(left + 1));
      left -= segment.byte_count;
    }
    if (faulty && i == fault_at) {
      spoil_segment(of, segment);
    }
    put(of, segment);
  }
}

/// Two pointers to the longest message, or to one byte more.
void wqe_parser_traffic::add_longest(draft& of) {
  const bool over = random_.chance(1, 2);
  cover_.hit(over ? "length.over_two_gib" : "length.two_gib");
  for (const std::uint32_t bytes : {0x7fffffffU, over ? 2U : 1U}) {
    data_seg segment = good_segment(of.wqe.qpn);
    segment.address = what_.find_key(segment.lkey >> MkeyVariantBits)->start_addr;
    segment.byte_count = bytes;
    put(of, segment);
  }
}

void wqe_parser_traffic::add_atomic_data(draft& of) {
  data_seg segment = good_segment(of.wqe.qpn);
  segment.byte_count = 8;
  switch (random_.below(24)) {
    case 0:
      segment.byte_count = static_cast<std::uint32_t>(random_.chance(1, 2) ? 4 : 16);
      cover_.hit("atomic.other_length");
      put(of, segment);
      break;
    case 1:
      segment.byte_count = 4;
      cover_.hit("atomic.in_two");
      put(of, segment);
      put(of, segment);
      break;
    case 2:
      cover_.hit("atomic.without_data");
      break;
    case 3: {
      inline_seg head;
      head.inline_flag = 1;
      head.byte_count = 8;
      head.pack(of.end());
      ++of.units;
      cover_.hit("inline.atomic");
      break;
    }
    case 4:
    case 5:
    case 6:
      spoil_segment(of, segment);
      put(of, segment);
      break;
    default:
      put(of, segment);
      break;
  }
}

data_seg wqe_parser_traffic::good_segment(std::uint32_t qpn) {
  data_seg segment;
  segment.lkey = pick_key(qpn);
  segment.byte_count = static_cast<std::uint32_t>(random_.below(1U << 20));
  segment.address = what_.find_key(segment.lkey >> MkeyVariantBits)->start_addr +
                    random_.below(std::uint64_t{1} << 33);
  return segment;
}

void wqe_parser_traffic::put(draft& of, const data_seg& segment) {
  segment.pack(of.end());
  ++of.units;
}

void wqe_parser_traffic::spoil_segment(const draft& of, data_seg& segment) {
  const std::uint32_t qpn = of.wqe.qpn;
  const unsigned domain = qpn % contexts::Domains;
  const mkey_line& key = *what_.find_key(segment.lkey >> MkeyVariantBits);
  // Changes the key but not what makes the segment lie in its range.
  const auto move = [&](unsigned index) {
    segment.address += what_.keys[index].start_addr - key.start_addr;
    segment.lkey = key_value(index);
  };
  switch (random_.below(14)) {
    case 0:
      segment.lkey ^= 1U << random_.below(MkeyVariantBits);
      cover_.hit("key.variant");
      break;
    case 1:
      move(contexts::Good + (domain ^ 1));
      cover_.hit("key.pd");
      break;
    case 2:
      move(contexts::Foreign + domain);
      cover_.hit("key.function");
      break;
    case 3:
      move(contexts::Bound + (qpn + contexts::Domains) % contexts::Qps);
      cover_.hit("key.other_qp");
      break;
    case 4:
      move(contexts::Invalid + domain);
      cover_.hit("key.invalid");
      break;
    case 5:
      move(contexts::ReadOnly + domain);
      cover_.hit("key.read_only");
      break;
    case 6:
      move(contexts::WriteOnly + domain);
      cover_.hit("key.write_only");
      break;
    case 7:
      segment.lkey = static_cast<std::uint32_t>(random_.next()) | 1U << 31;
      cover_.hit("key.unknown");
      break;
    case 8:
      // The last bytes of the range, and one more.
      segment.byte_count = 1 + static_cast<std::uint32_t>(random_.below(200));
      segment.address = key.start_addr + key.len - segment.byte_count + random_.below(2);
      cover_.hit("key.end");
      break;
    case 9:
      segment.address = key.start_addr - random_.below(2);
      cover_.hit("key.start");
      break;
    case 10:
      move(contexts::Short + domain);
      segment.address = what_.keys[contexts::Short + domain].start_addr + random_.below(8192);
      cover_.hit("key.short");
      break;
    case 11:
      segment.lkey =
          key_value((random_.chance(1, 2) ? contexts::ToEnd : contexts::BeyondEnd) + domain);
      segment.address = LastAddress - random_.below(4200);
      segment.byte_count = static_cast<std::uint32_t>(random_.below(4200));
      cover_.hit("key.wrap");
      break;
    case 12:
      segment.byte_count = 0;
      cover_.hit("key.zero_bytes");
      break;
    default:
      segment.byte_count = 0x7fffffff - static_cast<std::uint32_t>(random_.below(2));
      segment.address = key.start_addr;
      cover_.hit("length.huge");
      break;
  }
}

/// Some WQEs are spoiled as a whole.
void wqe_parser_traffic::spoil(draft& of) {
  wqe_item& wqe = of.wqe;
  switch (random_.below(64)) {
    case 0:
      wqe.status = static_cast<dma_status>(random_.between(1, 4));
      cover_.hit("wqe.unread");
      break;
    case 1:
      of.control.wqe_index = static_cast<std::uint16_t>(of.control.wqe_index + 1);
      cover_.hit("wqe.other_index");
      break;
    case 2:
      of.control.qpn ^= 1U << random_.below(24);
      cover_.hit("wqe.other_qpn");
      break;
    case 3:
      wqe.ds = static_cast<std::uint8_t>(random_.below(MaxWqeUnits + 1));
      cover_.hit("size.random");
      break;
    case 4:
      wqe.ds = static_cast<std::uint8_t>(std::min(wqe.ds + 1U, MaxWqeUnits));
      cover_.hit("size.one_more");
      break;
    case 5:
      wqe.ds = static_cast<std::uint8_t>(wqe.ds - 1);
      cover_.hit("size.one_less");
      break;
    case 6:
      // An inline segment among the pointers.
      if (wqe.ds > 3) {
        // cppcheck-suppress redundantInitialization; the handle's buffer, not the handle
        std::uint8_t* last = wqe.bytes.data() + std::size_t{wqe.ds - 1U} * SegmentBytes;
        *last |= 0x80;
        cover_.hit("wqe.mixed");
      }
      break;
    case 7:
      wqe.ds = static_cast<std::uint8_t>(random_.below(5));
      cover_.hit("size.tiny");
      break;
    case 8:
      for (unsigned i = SegmentBytes; i < MaxWqeUnits * SegmentBytes; ++i) {
        wqe.bytes.data()[i] = static_cast<std::uint8_t>(random_.next());
      }
      cover_.hit("wqe.garbage");
      break;
    default:
      break;
  }
}

/// Writes the control segment: the last thing to do, since the signature covers all.
void wqe_parser_traffic::sign(draft& of) {
  const wqe_item& wqe = of.wqe;
  std::uint8_t* bytes = wqe.bytes.data();
  const qpc_common* const qp = what_.find_qp(wqe.qpn);
  const bool asked_for = qp != nullptr && qp->sig_enable != 0;
  if (!asked_for) {
    of.control.signature = static_cast<std::uint8_t>(random_.below(256));
    of.control.pack(bytes);
    cover_.hit("signature.not_asked_for");
    return;
  }
  of.control.pack(bytes);
  const std::size_t size = std::size_t{wqe.ds} * SegmentBytes;
  std::uint8_t sum = 0;
  for (std::size_t i = 0; i < size; ++i) {
    sum ^= bytes[i];
  }
  of.control.signature = static_cast<std::uint8_t>(~sum);
  switch (random_.below(16)) {
    case 0:
      of.control.signature =
          static_cast<std::uint8_t>(of.control.signature ^ 1U << random_.below(8));
      of.control.pack(bytes);
      cover_.hit("signature.wrong");
      break;
    case 1:
      of.control.pack(bytes);
      if (wqe.ds > 1) {
        bytes[random_.between(SegmentBytes, size - 1)] ^=
            static_cast<std::uint8_t>(1U << random_.below(8));
        cover_.hit("signature.flipped_bit");
      }
      break;
    default:
      of.control.pack(bytes);
      cover_.hit("signature.right");
      break;
  }
}

}  // namespace carillon
