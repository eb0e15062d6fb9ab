// Constrained-random WQEs for wqe_parser: legal ones, each way to be refused, and the corners of
// both; a context RAM with varying latency; a sink.
#include <algorithm>
#include <array>

#include "common/items.h"
#include "common/nic_shared.h"
#include "cosim/bench_parts.h"
#include "cosim/stage_benches.h"
#include "gen/contexts.h"
#include "gen/stages.h"
#include "gen/wqe.h"
#include "wqe_parser.h"

namespace carillon {

namespace {

namespace spec = stage_spec::wqe_parser;

constexpr unsigned Qps = 64;
constexpr unsigned Keys = 64;
constexpr unsigned Domains = 4;
constexpr std::uint64_t Any = ~std::uint64_t{0};

/// The contexts: QP q and key k by number, with every state and every kind of key among them.
class contexts {
 public:
  explicit contexts(std::uint64_t seed) {
    random_stream random(seed, "wqe_parser_bench/contexts");
    for (unsigned q = 0; q < Qps; ++q) {
      qpc_common line;
      line.valid = q != 1;
      line.state = q < 16 ? static_cast<qp_state>(q / 2) : qp_state::Rts;
      line.service = q % 8 == 7 ? qp_service::Ud : q % 4 == 3 ? qp_service::Uc : qp_service::Rc;
      line.mtu = static_cast<mtu_code>(1 + random.below(5));
      line.pd = q % Domains;
      line.cq_num_send = static_cast<std::uint32_t>(random.below(1U << 24));
      line.pack(qps[q].data());
    }
    for (unsigned k = 0; k < Keys; ++k) {
      mkey_line& line = keys[k];
      line.valid = k != 8;
      line.pd = k % Domains;
      line.variant = static_cast<std::uint8_t>(random.below(256));
      line.lr = k != 9;
      line.length64 = k >= 60;
      line.start_addr = random.next() >> 1;
      line.len = k < 16 ? random.below(8192) : std::uint64_t{1} << 34;
      if (k >= 10 && k < 12) {
        // Up to the last byte of the address space, and beyond it.
        line.start_addr = Any - 4095;
        line.len = k == 10 ? 4095 : 4096;
      }
    }
  }

  std::array<std::array<std::uint8_t, BeatBytes>, Qps> qps{};
  std::array<mkey_line, Keys> keys{};
};

/// Answers reads in order, each after a latency of its own, and lets them wait as the pattern says.
class context_ram final : public stage {
 public:
  context_ram(const char* name, sim_context& context, const contexts& what,
              stream<context_read>& in, stream<context_line>& out, bench_pattern pattern,
              std::uint64_t seed)
      : stage(name, context, "qpc_ram"),
        what_(what),
        in_(in),
        out_(out),
        pattern_(pattern),
        gate_(pattern, seed, this->name()),
        random_(seed, this->name()) {
    in.to(*this, site());
    out.from(*this, site());
    watch(in, {blocker::condition("bench", [this](cycle_t t) { return !gate_.open(t); }),
               blocker::credit(out)});
  }

 private:
  void evaluate(cycle_t t) override {
    if (!in_.takeable(t)) {
      return;
    }
    if (!gate_.open(t)) {
      wake(t + 1);
      return;
    }
    if (!out_.has_credit(t)) {
      out_.ask_credit(t);
      return;
    }
    const context_read read = in_.take(t);
    context_line line{read.trace, read.kind, read.index, true};
    if (read.kind == context_kind::mkey) {
      line.valid = read.index < Keys;
      if (line.valid) {
        what_.keys[read.index].pack(line.data.data());
      }
    } else {
      line.valid = read.index < Qps;
      if (line.valid) {
        line.data = what_.qps[read.index];
      }
    }
    cycle_t latency = 4;
    if (pattern_ == bench_pattern::random) {
      latency += random_.chance(1, 64) ? random_.below(100) : random_.below(4);
    }
    const cycle_t visible = std::max(t + latency, out_.port_free());
    out_.push(t, static_cast<unsigned>(visible - t), line);
  }

  const contexts& what_;
  stream<context_read>& in_;
  stream<context_line>& out_;
  bench_pattern pattern_;
  pattern_gate gate_;
  random_stream random_;
};

/// Makes WQEs.
class wqe_maker {
 public:
  wqe_maker(const contexts& what, buffer_pool& buffers, std::uint64_t seed, coverage& cover)
      : what_(what), buffers_(buffers), random_(seed, "wqe_parser_bench/wqe"), cover_(cover) {}

  wqe_item make() {
    wqe_item wqe;
    wqe.bytes = buffers_.take();
    // What lies beyond a WQE in the buffer is nobody's.
    std::fill_n(wqe.bytes.data(), 1024, static_cast<std::uint8_t>(random_.below(256)));
    wqe.function = static_cast<std::uint16_t>(random_.below(8));
    wqe.qpn = static_cast<std::uint32_t>(random_.chance(1, 4) ? random_.below(Qps)
                                                              : random_.between(16, Qps - 1));
    if (random_.chance(1, 100)) {
      wqe.qpn = static_cast<std::uint32_t>(random_.between(Qps, (1U << 24) - 1));
      cover_.hit("qp.unknown");
    }
    wqe.wqe_index = static_cast<std::uint16_t>(random_.next());
    wqe.origin = random_.chance(1, 4) ? wqe_origin::blueflame : wqe_origin::fetched;

    ctrl_seg control;
    control.wqe_index = wqe.wqe_index;
    control.qpn = wqe.qpn;
    control.opcode = pick_opcode();
    control.fm = static_cast<fence_mode>(random_.below(5));
    control.ce = static_cast<completion_mode>(random_.below(4));
    control.se = static_cast<std::uint8_t>(random_.below(2));
    control.imm = static_cast<std::uint32_t>(random_.next());
    const bool remote =
        control.opcode == wqe_opcode::RdmaWrite || control.opcode == wqe_opcode::RdmaWriteImmediate;
    unsigned units = 1;
    if (remote) {
      raddr_seg segment;
      segment.raddr = random_.next();
      segment.rkey = static_cast<std::uint32_t>(random_.next());
      segment.pack(wqe.bytes.data() + 16);
      units = 2;
    }
    if (control.opcode != wqe_opcode::Nop) {
      units = random_.chance(1, 3) ? add_inline(wqe, units) : add_pointers(wqe, units);
    }
    wqe.ds = static_cast<std::uint8_t>(units);
    spoil(wqe, control);
    control.ds = wqe.ds;
    control.pack(wqe.bytes.data());
    cover_.hit_if(wqe.ds == MaxWqeUnits, "size.largest");
    cover_.hit(wqe.origin == wqe_origin::fetched ? "origin.fetched" : "origin.blueflame");
    cover_.hit(fmt::format("beats.{}", beats_of(std::uint64_t{wqe.ds} * 16)));
    return wqe;
  }

 private:
  wqe_opcode pick_opcode() {
    static constexpr std::array Legal = {wqe_opcode::RdmaWrite, wqe_opcode::RdmaWriteImmediate,
                                         wqe_opcode::Send, wqe_opcode::SendImmediate};
    if (random_.chance(1, 20)) {
      return wqe_opcode::Nop;
    }
    if (random_.chance(1, 40)) {
      return static_cast<wqe_opcode>(random_.below(256));
    }
    return Legal[random_.below(Legal.size())];
  }

  unsigned add_inline(wqe_item& wqe, unsigned units) {
    const unsigned room = (MaxWqeUnits - units) * 16 - inline_seg::Size;
    std::uint64_t length = random_.chance(1, 2) ? random_.below(61) : random_.below(room + 1);
    switch (random_.below(12)) {
      case 0:
        length = 0;
        cover_.hit("inline.empty");
        break;
      case 1:
        length = room;
        cover_.hit("inline.longest");
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
    std::uint8_t* data = wqe.bytes.data() + std::size_t{units} * 16;
    inline_seg head;
    head.inline_flag = 1;
    head.byte_count = static_cast<std::uint16_t>(length);
    head.pack(data);
    for (std::uint64_t i = 0; i < length; ++i) {
      data[inline_seg::Size + i] = static_cast<std::uint8_t>(random_.next());
    }
    return units + static_cast<unsigned>((inline_seg::Size + length + 15) / 16);
  }

  unsigned add_pointers(wqe_item& wqe, unsigned units) {
    static constexpr std::array<unsigned, 8> Common = {1, 1, 1, 1, 2, 2, 3, 4};
    unsigned count = Common[random_.below(Common.size())];
    if (random_.chance(1, 8)) {
      count = static_cast<unsigned>(random_.below(MaxSge + 1));
    }
    if (random_.chance(1, 32)) {
      count = MaxSge;
    }
    const bool faulty = random_.chance(1, 8);
    const auto fault_at = static_cast<unsigned>(random_.below(std::max(count, 1U)));
    for (unsigned i = 0; i < count; ++i) {
      data_seg segment = good_segment(wqe.qpn);
      if (faulty && i == fault_at) {
        spoil_segment(segment, wqe.qpn);
      }
      segment.pack(wqe.bytes.data() + std::size_t{units + i} * 16);
    }
    cover_.hit(count == 0       ? "sge.none"
               : count == 1     ? "sge.one"
               : count < MaxSge ? "sge.some"
                                : "sge.most");
    return units + count;
  }

  data_seg good_segment(std::uint32_t qpn) {
    const auto k =
        static_cast<unsigned>(16 + (random_.below(Keys - 16) & ~(Domains - 1)) + qpn % Domains);
    const mkey_line& key = what_.keys[k];
    data_seg segment;
    segment.lkey = k << MkeyVariantBits | key.variant;
    segment.byte_count = static_cast<std::uint32_t>(random_.below(1U << 20));
    segment.address = key.start_addr + random_.below(std::uint64_t{1} << 33);
    return segment;
  }

  void spoil_segment(data_seg& segment, std::uint32_t qpn) {
    const std::uint64_t what = random_.below(9);
    const unsigned k = segment.lkey >> MkeyVariantBits;
    const mkey_line& key = what_.keys[k];
    const auto own = [&](unsigned number) {
      return number << MkeyVariantBits | what_.keys[number].variant;
    };
    switch (what) {
      case 0:
        segment.lkey ^= 1U << random_.below(MkeyVariantBits);
        cover_.hit("key.variant");
        break;
      case 1:
        segment.lkey = own(16 + (qpn + 1) % Domains);
        cover_.hit("key.pd");
        break;
      case 2:
        segment.lkey = own(8 + static_cast<unsigned>(random_.below(2)));
        cover_.hit("key.unusable");
        break;
      case 3:
        segment.lkey = static_cast<std::uint32_t>(random_.next()) | 1U << 31;
        cover_.hit("key.unknown");
        break;
      case 4:
        // The last bytes of the range, and one more.
        segment.byte_count = 1 + static_cast<std::uint32_t>(random_.below(1000));
        segment.address = key.start_addr + key.len - segment.byte_count + random_.below(2);
        cover_.hit("key.end");
        break;
      case 5:
        segment.address = key.start_addr - random_.below(2);
        cover_.hit("key.start");
        break;
      case 6:
        segment.lkey = own(10 + static_cast<unsigned>(random_.below(2)));
        segment.address = Any - random_.below(4200);
        segment.byte_count = static_cast<std::uint32_t>(random_.below(4200));
        cover_.hit("key.wrap");
        break;
      case 7:
        segment.byte_count = 0;
        cover_.hit("key.zero_bytes");
        break;
      default:
        // Two of these exceed the longest message, one alone just does not or just does.
        segment.byte_count = 0x7fffffff - static_cast<std::uint32_t>(random_.below(2));
        segment.address = key.start_addr;
        cover_.hit("length.huge");
        break;
    }
  }

  /// Some WQEs are spoiled as a whole.
  void spoil(wqe_item& wqe, ctrl_seg& control) {
    switch (random_.below(64)) {
      case 0:
        wqe.status = static_cast<dma_status>(random_.between(1, 4));
        cover_.hit("wqe.unread");
        break;
      case 1:
        control.wqe_index = static_cast<std::uint16_t>(control.wqe_index + 1);
        cover_.hit("wqe.other_index");
        break;
      case 2:
        control.qpn ^= 1U << random_.below(24);
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
          std::uint8_t* last = wqe.bytes.data() + std::size_t{wqe.ds - 1U} * 16;
          *last |= 0x80;
          cover_.hit("wqe.mixed");
        }
        break;
      case 7:
        wqe.ds = static_cast<std::uint8_t>(random_.below(2));
        cover_.hit("size.tiny");
        break;
      default:
        break;
    }
  }

  const contexts& what_;
  buffer_pool& buffers_;
  random_stream random_;
  coverage& cover_;
};

class wqe_feeder final : public stage {
 public:
  wqe_feeder(const char* name, sim_context& context, stream<wqe_item>& out, wqe_maker& maker,
             pattern_gate gate, std::uint64_t count)
      : stage(name, context, "bench"), out_(out), maker_(maker), gate_(gate), left_(count) {
    out.from(*this, site());
    if (left_ != 0) {
      wake(1);
    }
  }

 private:
  void evaluate(cycle_t t) override {
    if (left_ == 0) {
      return;
    }
    if (!gate_.open(t) || t + 1 < out_.port_free()) {
      wake(t + 1);
      return;
    }
    if (!out_.has_credit(t, out_.max_beats())) {
      out_.ask_credit(t, out_.max_beats());
      return;
    }
    wqe_item wqe = maker_.make();
    wqe.trace = context_.trace.open(time_of(t), {"bench", wqe.qpn, wqe.wqe_index, 0, 0});
    const unsigned beats = beats_of(std::uint64_t{wqe.ds} * 16);
    out_.push(t, 1, std::move(wqe), beats);
    --left_;
    wake(t + 1);
  }

  stream<wqe_item>& out_;
  wqe_maker& maker_;
  pattern_gate gate_;
  std::uint64_t left_;
};

void declare_coverage(coverage& cover) {
  cover.declare({"opcode.Nop", "opcode.RdmaWrite", "opcode.RdmaWriteImmediate", "opcode.Send",
                 "opcode.SendImmediate", "opcode.other"});
  cover.declare({"origin.fetched", "origin.blueflame"});
  for (unsigned beats = 1; beats <= spec::MaxBeats; ++beats) {
    cover.declare({fmt::format("beats.{}", beats).c_str()});
  }
  cover.declare({"sge.none", "sge.one", "sge.some", "sge.most", "inline.empty", "inline.flush",
                 "inline.longest"});
  cover.declare({"size.largest", "size.random", "size.one_more", "size.one_less", "size.tiny"});
  cover.declare({"wqe.unread", "wqe.other_index", "wqe.other_qpn", "wqe.mixed", "qp.unknown"});
  cover.declare({"key.variant", "key.pd", "key.unusable", "key.unknown", "key.end", "key.start",
                 "key.wrap", "key.zero_bytes", "length.huge"});
  cover.declare({"result.ok", "result.drop", "result.LocalLength", "result.LocalQpOperation",
                 "result.LocalProtection", "result.WrFlushed"});
  cover.declare({"wait.order", "wait.ctx_slots", "wait.walker", "wait.wqe_beats", "wait.mkey_slots",
                 "wait.credit_ctx_read", "wait.credit_work", "wait.credit_mkey_read"});
}

}  // namespace

lockstep_report run_wqe_parser_bench(const lockstep_options& options) {
  sim_context context(parameters{}, options.seed, options.shuffle_seed);
  tlp_pool tlps;
  nic_shared nic(context, "bench", tlps);
  rtl_domain domain(context, {options.rtl_clock_always,
                              options.audit,
                              {{options.stage, options.variant}},
                              replay_command(options)});
  run_digest digest(context);
  coverage cover;
  declare_coverage(cover);

  stream<wqe_item> wqes(context, "bench.wqe", stage_spec::wqe_fetch::Depth, spec::MaxBeats);
  stream<context_read> ctx_reads(context, "bench.ctx_read", spec::CtxReadDepth);
  stream<context_line> ctx_lines(context, "bench.ctx_line", spec::CtxSlots);
  stream<context_read> mkey_reads(context, "bench.mkey_read", spec::KeyReadDepth);
  stream<context_line> mkey_lines(context, "bench.mkey_line", spec::KeySlots);
  stream<work_item> works(context, "bench.work", spec::Depth, spec::MaxBeats);

  const contexts what(options.seed);
  wqe_maker maker(what, nic.buffers, options.seed, cover);
  wqe_feeder source("source", context, wqes, maker, {options.source, options.seed, "source"},
                    options.transactions);
  context_ram qps("qps", context, what, ctx_reads, ctx_lines, options.sink, options.seed);
  context_ram keys("keys", context, what, mkey_reads, mkey_lines, options.sink, options.seed);

  lockstep_report report;
  bench_sink<work_item> sink("sink", context, works, {options.sink, options.seed, "sink"},
                             [&](cycle_t t, const work_item& work) {
                               ++report.transactions;
                               report.cycles = t;
                               const auto opcode = static_cast<wqe_opcode>(work.opcode);
                               const std::string name = fmt::format("opcode.{}", to_string(opcode));
                               cover.hit(cover.has(name) ? name : "opcode.other");
                               const auto syndrome = static_cast<cqe_syndrome>(work.syndrome);
                               cover.hit(work.drop ? "result.drop"
                                         : syndrome == cqe_syndrome::None
                                             ? "result.ok"
                                             : fmt::format("result.{}", to_string(syndrome)));
                               context.trace.release(work.trace);
                             });
  digest.each_message([&](const message_record& message) {
    for (const span& each : message.spans) {
      if (each.kind == span_kind::wait) {
        std::string reason = context.trace.name(each.reason);
        if (reason.rfind("credit:bench.", 0) == 0) {
          reason = "credit_" + reason.substr(13);
        }
        const std::string bin = "wait." + reason;
        cover.hit_if(cover.has(bin), bin);
      }
    }
  });

  {
    const twin_instance stage = make_twin<wqe_parser>(
        "wqe_parser", nic, {wqes, ctx_reads, ctx_lines, mkey_reads, mkey_lines, works},
        options.impl, &domain);
    run_bench(domain);
    report.edges = domain.edges();
    domain.finish();
    context.check_drained();
  }
  CARILLON_CHECK(report.transactions == options.transactions, "{} of {} transactions came through",
                 report.transactions, options.transactions);
  report.trace_digest = digest.value();
  report.coverage = cover.bins();
  return report;
}

}  // namespace carillon
